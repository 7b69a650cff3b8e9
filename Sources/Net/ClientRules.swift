import COpenSSL
import Glibc
package import System

/// The rules for client certificates, with the authority files' content, not their names.
struct ClientRules: Equatable {
    private let settings: TLSSettings
    /// The authorities' certificates in DER.
    private let authorities: [[UInt8]]
    private let revocations: RevocationLists
    /// Denied names without a star; they are looked up in one step.
    private let deniedNames: Set<[UInt8]>
    private let deniedPatterns: [CertificatePattern]

    init(_ settings: TLSSettings) throws(TLSError) {
        self.settings = settings
        deniedNames = Set(settings.denied.compactMap(\.only))
        deniedPatterns = settings.denied.filter { $0.only == nil }
        revocations = try RevocationLists(
            settings.clientAuthorities == nil ? [] : settings.revocationFiles
        )
        guard let file = settings.clientAuthorities else {
            authorities = []
            return
        }
        let certificates = try TLSFiles.certificates(in: file)
        defer { for certificate in certificates { X509_free(certificate) } }
        authorities = certificates.map { certificate in
            derEncoded { i2d_X509(certificate, $0) }
        }
    }

    func apply(to context: OpaquePointer) throws(TLSError) {
        guard let file = settings.clientAuthorities else { return }
        let store = SSL_CTX_get_cert_store(context)
        // Accepts an intermediate authority as the root of trust. Its clients are then let in, and
        // the other clients of its root are not.
        X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        for bytes in authorities {
            let authority = bytes.withUnsafeBufferPointer { bytes in
                var place = bytes.baseAddress
                return d2i_X509(nil, &place, bytes.count)
            }
            defer { X509_free(authority) }
            // The server sends these names, and clients choose their certificate by them.
            guard X509_STORE_add_cert(store, authority) == 1,
                SSL_CTX_add_client_CA(context, authority) == 1
            else { throw .refused(file: file, reason: TLSReason.take()) }
        }
        try revocations.apply(to: store)
        switch settings.clientCertificates {
        case .none: break
        case .optional: SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        case .required:
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        }
    }

    static func == (one: Self, other: Self) -> Bool {
        one.isRequired == other.isRequired && one.authorities == other.authorities
            && one.revocations.revokesTheSame(as: other.revocations)
            && one.deniedNames == other.deniedNames && one.deniedPatterns == other.deniedPatterns
    }

    var refusesNames: Bool { !(deniedNames.isEmpty && deniedPatterns.isEmpty) }

    /// The first denied name of a client; nil when none is denied.
    func deniedName(of names: [String]) -> String? {
        names.first { name in
            let comparable = comparableName(name)
            return deniedNames.contains(comparable)
                || deniedPatterns.contains { $0.covers(comparable) }
        }
    }

    var revocationLists: [TLSRevocationList] { revocations.told }

    private var isRequired: Bool {
        if case .required = settings.clientCertificates { true } else { false }
    }
}

/// A pattern for names in client certificates, with its kind: "dns:phone-7.example.com". One `*`
/// matches one or more letters, digits, '-' and '_'; it never matches a dot, a slash or an @.
package struct CertificatePattern: Sendable, Hashable {
    package static let kinds = ["dns", "ip", "uri", "mail", "cn"]

    private let start: [UInt8]
    /// The text after the star; nil without a star.
    private let end: [UInt8]?

    /// nil without a kind or name, or with several stars.
    package init?(_ text: String) {
        guard let colon = text.firstIndex(of: ":"), Self.kinds.contains(String(text[..<colon])),
            (1...255).contains(text[colon...].utf8.count - 1)
        else { return nil }
        let parts = comparableName(text).split(
            separator: UInt8(ascii: "*"),
            omittingEmptySubsequences: false
        )
        guard parts.count <= 2 else { return nil }
        start = Array(parts[0])
        end = parts.count == 2 ? Array(parts[1]) : nil
    }

    /// The only name that matches; nil for a pattern with a star.
    package var only: [UInt8]? { end == nil ? start : nil }

    /// `name` must come from `comparableName`.
    package func covers(_ name: [UInt8]) -> Bool {
        guard let end else { return name == start }
        guard name.count > start.count + end.count, name.starts(with: start) else { return false }
        return name.suffix(end.count) == end[...]
            && name[start.count..<(name.count - end.count)].allSatisfy(\.isWordCharacter)
    }
}

/// Normalises a name for comparison. Host names ignore case (RFC 4343), and addresses have one
/// spelling; other names stay as they are.
package func comparableName(_ name: String) -> [UInt8] {
    if name.hasPrefix("dns:") { return Array(name.lowercased().utf8) }
    if name.hasPrefix("ip:"), let address = IPAddress(String(name.dropFirst(3))) {
        return Array("ip:\(address)".utf8)
    }
    return Array(name.utf8)
}

/// The facts to report about a certificate revocation list (CRL, RFC 5280 section 5).
package struct TLSRevocationList: Sendable, Equatable {
    /// The file that holds it.
    package let file: String
    /// The authority that signed it, in RFC 2253 form. A file may hold lists of several.
    package let issuer: String
    package let begins: WallTime
    /// The time by which the authority planned to issue the next list; nil if it gave none.
    package let expires: WallTime?
    package let revokedCount: Int

    init(_ list: OpaquePointer, file: String) {
        self.file = file
        issuer = Self.text(of: X509_CRL_get_issuer(list))
        begins = WallTime(X509_CRL_get0_lastUpdate(list))
        expires = X509_CRL_get0_nextUpdate(list).map { WallTime($0) }
        revokedCount = Int(max(0, OPENSSL_sk_num(X509_CRL_get_REVOKED(list))))
    }

    private static func text(of name: OpaquePointer?) -> String {
        guard let output = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(output) }
        X509_NAME_print_ex(output, name, 0, sluice_name_style())
        var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(output))
        let count = BIO_read(output, &bytes, CInt(clamping: bytes.count))
        return String(decoding: bytes.prefix(Int(max(0, count))), as: UTF8.self)
    }

    package func isExpired(at now: WallTime) -> Bool { expires.map { $0 < now } ?? false }

    /// A warning for the operator; nil when all is well.
    package func warning(at now: WallTime) -> String? {
        if let expires, now > expires {
            return
                "the revocation list of \(issuer) in \(file) expired at \(expires.rfc3339), so clients whose certificates"
                + " its authority signed are refused; replace it with a current one"
        }
        if now < begins {
            return
                "the revocation list of \(issuer) in \(file) is valid from \(begins.rfc3339) only, so clients whose"
                + " certificates its authority signed are refused until then; check the clock"
        }
        if let expires, expires - now < min(.seconds(86_400), (expires - begins) / 5) {
            return
                "the revocation list of \(issuer) in \(file) expires at \(expires.rfc3339), and clients are refused"
                + " from then on; find out why there is no newer one"
        }
        return nil
    }
}

/// Revocation lists as read, in DER, for each OpenSSL context.
struct RevocationLists {
    private(set) var told: [TLSRevocationList] = []
    private var contents: [[UInt8]] = []
    /// Digests of the lists' content without their issue dates. A renewed list that revokes the
    /// same certificates is no reason to make clients reconnect.
    private var marks: [[UInt8]] = []

    init(_ files: [String]) throws(TLSError) {
        for file in files {
            let lists = try TLSFiles.revocationLists(in: file)
            defer { for list in lists { X509_CRL_free(list) } }
            for list in lists {
                told.append(TLSRevocationList(list, file: file))
                contents.append(derEncoded { i2d_X509_CRL(list, $0) })
                marks.append(Self.mark(of: list))
            }
        }
        marks.sort { $0.lexicographicallyPrecedes($1) }
    }

    func apply(to store: OpaquePointer?) throws(TLSError) {
        guard !contents.isEmpty else { return }
        for (bytes, list) in zip(contents, told) {
            let decoded = bytes.withUnsafeBufferPointer { bytes in
                var place = bytes.baseAddress
                return d2i_X509_CRL(nil, &place, bytes.count)
            }
            defer { X509_CRL_free(decoded) }
            guard X509_STORE_add_crl(store, decoded) == 1 else {
                throw .refused(file: list.file, reason: TLSReason.take())
            }
        }
        // OpenSSL then refuses clients of an authority without a current list. Skipping the check
        // in that case would protect no one.
        X509_STORE_set_flags(store, UInt(X509_V_FLAG_CRL_CHECK))
    }

    func revokesTheSame(as other: RevocationLists) -> Bool { marks == other.marks }

    /// A digest of the issuer and the sorted serial numbers.
    private static func mark(of list: OpaquePointer) -> [UInt8] {
        let revoked = X509_CRL_get_REVOKED(list)
        var numbers: [[UInt8]] = (0..<max(0, OPENSSL_sk_num(revoked))).compactMap { index in
            OPENSSL_sk_value(revoked, index).map { entry in
                let number = X509_REVOKED_get0_serialNumber(OpaquePointer(entry))
                return derEncoded { i2d_ASN1_INTEGER(number, $0) }
            }
        }
        numbers.sort { $0.lexicographicallyPrecedes($1) }
        // DER encodes its own length, so two different lists cannot give the same text.
        let text = derEncoded { i2d_X509_NAME(X509_CRL_get_issuer(list), $0) } + numbers.joined()
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_Digest(text, text.count, &digest, nil, EVP_sha256(), nil)
        return digest
    }
}

/// Runs an OpenSSL encoder and returns its output.
func derEncoded(
    _ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt
) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Int(max(0, encode(nil))))
    bytes.withUnsafeMutableBufferPointer { bytes in
        var place = bytes.baseAddress
        _ = encode(&place)
    }
    return bytes
}
