import COpenSSL

/// The rules for client certificates, with the content of the authority files instead of their
/// names.
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
