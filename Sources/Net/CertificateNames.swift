import COpenSSL
import Glibc
package import System

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
    let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) {
        room -> String? in
        inet_ntop(
            isV4 ? AF_INET : AF_INET6,
            ASN1_STRING_get0_data(string),
            room.baseAddress,
            socklen_t(room.count)
        ).map { String(cString: $0) }
    }
    return text.map { [CertificateName(kind: .address, text: $0)] } ?? []
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
