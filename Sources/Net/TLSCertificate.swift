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

    /// True if renewal is late: in the last fifth of the validity, or two weeks if that is less.
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

/// A name in a certificate that the authority has verified.
struct CertificateName: Equatable {
    enum Kind: String {
        case host = "dns"
        case address = "ip"
        case uri
        case mail
        case common = "cn"
    }

    let kind: Kind
    let text: String
}

/// Returns the alternative names. The common name counts only when the certificate has no list of
/// alternative names, even a list without usable kinds (RFC 6125 section 6.4.4).
///
/// Names that are not plain text are left out, because rules compare them and logs show them.
func certificateNames(_ certificate: OpaquePointer) -> [CertificateName] {
    guard X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) >= 0 else {
        return commonName(certificate)
    }
    guard let found = X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil) else {
        ERR_clear_error()
        return []
    }
    let list = OpaquePointer(found)
    defer { GENERAL_NAMES_free(list) }
    return (0..<max(0, OPENSSL_sk_num(list))).flatMap { index in
        OPENSSL_sk_value(list, index).map {
            name($0.assumingMemoryBound(to: GENERAL_NAME.self).pointee)
        } ?? []
    }
}

private func name(_ name: GENERAL_NAME) -> [CertificateName] {
    switch name.type {
    case GEN_DNS: text(name.d.dNSName, .host)
    case GEN_URI: text(name.d.uniformResourceIdentifier, .uri)
    case GEN_EMAIL: text(name.d.rfc822Name, .mail)
    case GEN_IPADD: address(name.d.iPAddress)
    default: []
    }
}

private func commonName(_ certificate: OpaquePointer) -> [CertificateName] {
    let subject = X509_get_subject_name(certificate)
    let index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1)
    guard index >= 0 else { return [] }
    return text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index)), .common)
}

private func text(
    _ string: UnsafePointer<ASN1_STRING>?,
    _ kind: CertificateName.Kind
) -> [CertificateName] {
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = ASN1_STRING_to_UTF8(&bytes, string)
    guard count >= 0, let bytes else { return [] }
    defer { CRYPTO_free(bytes, #file, #line) }
    let characters = UnsafeBufferPointer(start: bytes, count: Int(count))
    guard (1...255).contains(count), let text = String(validating: characters, as: UTF8.self),
        // Alternative names are visible ASCII; a common name may be any text.
        text.unicodeScalars.allSatisfy({
            kind == .common ? $0.isPlain : (0x21...0x7e).contains($0.value)
        })
    else { return [] }
    return [CertificateName(kind: kind, text: text)]
}

extension Unicode.Scalar {
    /// The character is visible and does not change how its neighbours are displayed.
    fileprivate var isPlain: Bool {
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
            .paragraphSeparator:
            false
        default: true
        }
    }
}

private func address(_ string: UnsafePointer<ASN1_STRING>?) -> [CertificateName] {
    let isV4 = ASN1_STRING_length(string) == 4
    guard isV4 || ASN1_STRING_length(string) == 16 else { return [] }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let (family, room) = (isV4 ? AF_INET : AF_INET6, socklen_t(text.count))
    guard inet_ntop(family, ASN1_STRING_get0_data(string), &text, room) != nil else { return [] }
    let written = text.prefix { $0 != 0 }.map(UInt8.init(truncatingIfNeeded:))
    return [CertificateName(kind: .address, text: String(decoding: written, as: UTF8.self))]
}

/// The identity in a client's certificate.
package struct ClientCertificate: Sendable, Equatable {
    /// Names with their kinds: "dns:phone-7.example.com", "uri:spiffe://fleet/phone",
    /// "mail:a@example.com", "ip:192.0.2.1", or "cn:phone 8" where there is no other. The kind is
    /// part of the name, because authorities may give the same text in different kinds to different
    /// clients.
    package let names: [String]
    package let expires: WallTime

    init(_ certificate: OpaquePointer) {
        names = certificateNames(certificate).map { "\($0.kind.rawValue):\($0.text)" }
        expires = TLSCertificate(certificate, file: "").expires
    }
}
