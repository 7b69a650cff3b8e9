import COpenSSL
import Glibc
package import System

/// The facts to report about a served certificate.
package struct TLSCertificate: Sendable, Equatable {
    /// The file that holds it.
    package let file: String
    /// The names it is valid for: "example.com", "*.example.com", "192.0.2.1".
    package let names: [String]
    package let begins: WallTime
    package let expires: WallTime

    init(_ certificate: OpaquePointer, file: String) {
        self.file = file
        names = certificateNames(certificate).map(\.text)
        begins = WallTime(X509_get0_notBefore(certificate))
        expires = WallTime(X509_get0_notAfter(certificate))
    }

    /// A warning for the operator, before clients fail; nil when all is well.
    package func warning(at now: WallTime) -> String? {
        if now > expires {
            return "the certificate in \(file) expired at \(expires.rfc3339), clients refuse it;"
                + " replace it with a renewed one"
        }
        if now < begins {
            return "the certificate in \(file) is valid from \(begins.rfc3339) only, clients refuse"
                + " it until then; check the clock, or restore the previous certificate"
        }
        if isNearEnd(at: now) {
            return "the certificate in \(file) expires at \(expires.rfc3339) and should have been"
                + " renewed by now; find out why it was not, and replace it"
        }
        return nil
    }

    /// True if renewal is late: the last fifth of its validity has begun, but at most the last two
    /// weeks.
    package func isNearEnd(at now: WallTime) -> Bool {
        expires - now < min(.seconds(14 * 86_400), (expires - begins) / 5)
    }
}

extension WallTime {
    init(_ time: UnsafePointer<ASN1_TIME>?) {
        var parts = tm()
        ASN1_TIME_to_tm(time, &parts)
        self.init(seconds: Int64(timegm(&parts)))
    }
}

/// The pin of a certificate's public key in curl's form: "sha256//" and its SHA-256 in base64.
package struct CertificatePin: Sendable, Equatable, CustomStringConvertible {
    package let description: String

    /// Pins the first certificate in the file, which is the server's own.
    package init(file: String) throws(TLSError) {
        let chain = try TLSFiles.certificates(in: file)
        defer { for certificate in chain { X509_free(certificate) } }
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(chain[0]), &encoded)
        guard count > 0, let encoded else {
            throw .refused(file: file, reason: TLSReason.take())
        }
        defer { CRYPTO_free(encoded, #file, #line) }
        var digest = [UInt8](repeating: 0, count: 32)
        guard EVP_Digest(encoded, Int(count), &digest, nil, EVP_sha256(), nil) == 1 else {
            throw .library(reason: TLSReason.take())
        }
        // 44 characters for 32 bytes, and a NUL.
        var text = [UInt8](repeating: 0, count: 45)
        let length = EVP_EncodeBlock(&text, digest, 32)
        description = "sha256//" + String(decoding: text.prefix(Int(length)), as: UTF8.self)
    }
}
