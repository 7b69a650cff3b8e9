import COpenSSL

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
