import COpenSSL
import Glibc

/// The identities read from one listener's files: an OpenSSL context for each set of names, with a
/// certificate for each kind of key.
///
/// Sessions keep it alive, because OpenSSL's callbacks point to it. Unchecked because of the raw
/// contexts: OpenSSL lets many threads use a context once it is set up.
final class TLSIdentities: @unchecked Sendable {
    let certificates: [TLSCertificate]
    /// Certificates that no client gets, each with the one that replaces it.
    let neverShown: [(file: String, instead: String)]
    let clientRules: ClientRules
    private let contexts: [OpaquePointer]

    init(_ settings: TLSSettings) throws(TLSError) {
        guard !settings.certificates.isEmpty else { throw .noCertificate }
        clientRules = try ClientRules(settings)
        var groups: [Group] = []
        var certificates: [TLSCertificate] = []
        var neverShown: [(file: String, instead: String)] = []
        do throws(TLSError) {
            for files in settings.certificates {
                let pair = try TLSPair(files)
                let names = Set(pair.certificate.names)
                if let index = groups.firstIndex(where: { $0.names == names }) {
                    if let other = groups[index].files[pair.keyKind] {
                        neverShown.append((files.chainFile, other))
                    } else {
                        groups[index].files[pair.keyKind] = files.chainFile
                        try pair.load(into: groups[index].context)
                    }
                } else {
                    let context = try newContext()
                    groups.append(Group(context: context, names: names))
                    groups[groups.count - 1].files[pair.keyKind] = files.chainFile
                    try configure(context, settings, clientRules)
                    try pair.load(into: context)
                }
                certificates.append(pair.certificate)
            }
        } catch {
            for group in groups { SSL_CTX_free(group.context) }
            throw error
        }
        contexts = groups.map(\.context)
        self.certificates = certificates
        self.neverShown = neverShown
        sluice_choose_by_server_name(
            contexts[0],
            { session, _, identities in
                guard let session, let identities else { return SSL_TLSEXT_ERR_NOACK }
                Unmanaged<TLSIdentities>.fromOpaque(identities).takeUnretainedValue()
                    .chooseContext(for: session)
                return SSL_TLSEXT_ERR_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    deinit {
        for context in contexts { SSL_CTX_free(context) }
    }

    /// Opens a session with the first context; the server name callback may switch to another.
    func newSession() -> OpaquePointer? { SSL_new(contexts[0]) }

    private func chooseContext(for session: OpaquePointer) {
        guard contexts.count > 1,
            let name = SSL_get_servername(session, TLSEXT_NAMETYPE_host_name)
        else { return }
        var count = strlen(name)
        // Certificates lack the trailing dot of a fully qualified name.
        if count > 1, name[count - 1] == CChar(UInt8(ascii: ".")) { count -= 1 }
        // An exact name wins over a wildcard that covers it.
        let exactly = UInt32(X509_CHECK_FLAG_NO_WILDCARDS)
        let chosen =
            contexts.first { Self.names($0, name, count, flags: exactly) }
            ?? contexts.first { Self.names($0, name, count, flags: 0) }
        if let chosen { SSL_set_SSL_CTX(session, chosen) }
    }

    private static func names(
        _ context: OpaquePointer,
        _ name: UnsafePointer<CChar>,
        _ count: Int,
        flags: UInt32
    ) -> Bool {
        guard let certificate = SSL_CTX_get0_certificate(context) else { return false }
        return X509_check_host(certificate, name, count, flags, nil) == 1
    }
}

/// Certificates for the same names; OpenSSL picks the one whose key type the client supports.
private struct Group {
    let context: OpaquePointer
    let names: Set<String>
    /// The certificate's file for each kind of key.
    var files: [CInt: String] = [:]
}

private func newContext() throws(TLSError) -> OpaquePointer {
    guard let context = SSL_CTX_new(TLS_server_method()) else {
        throw .library(reason: TLSReason.take())
    }
    return context
}
