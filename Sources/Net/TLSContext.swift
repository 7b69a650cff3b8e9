import COpenSSL
import Glibc
import Synchronization
package import System

/// A listener's certificates and TLS settings. Listeners and threads may share it.
package final class TLSContext: Sendable {
    private let identities: Locked<TLSIdentities>
    /// Increases when the rules for clients change.
    private let generation = Atomic<Int>(0)

    /// Reads and checks the files.
    package init(_ settings: TLSSettings) throws(TLSError) {
        identities = Locked(try TLSIdentities(settings))
    }

    /// Reads and checks the files again, or others. New connections get the new certificates, and
    /// tickets with new keys, so a daily call is worthwhile even if no file has changed. Existing
    /// connections continue as before, unless the rules for clients have changed: then their next
    /// request is refused and is their last. On an error nothing changes.
    package func replace(_ settings: TLSSettings) throws(TLSError) {
        put(try TLSIdentities(settings))
    }

    private func put(_ next: TLSIdentities) {
        identities.withLock { current in
            if current.clientRules != next.clientRules {
                generation.add(1, ordering: .relaxed)
            }
            current = next
        }
    }

    /// Checks a file of certificates without keeping it.
    package static func check(certificates file: String) throws(TLSError) {
        for certificate in try TLSFiles.certificates(in: file) { X509_free(certificate) }
    }

    /// Checks a file of revocation lists without keeping it.
    package static func check(revocationLists file: String) throws(TLSError) {
        for list in try TLSFiles.revocationLists(in: file) { X509_CRL_free(list) }
    }

    /// Checks a private key without keeping it.
    package static func check(key file: String) throws(TLSError) {
        EVP_PKEY_free(try TLSFiles.key(in: file))
    }

    /// Like `replace`, with the files that another context has read.
    package func adopt(_ other: TLSContext) {
        put(other.current)
    }

    /// The certificates for new connections, in the order of the settings.
    package var certificates: [TLSCertificate] { current.certificates }

    /// The revocation lists that clients are checked against.
    package var revocationLists: [TLSRevocationList] { current.clientRules.revocationLists }

    /// Warnings for the operator about certificates and lists that fail at this time.
    package func warnings(at now: WallTime) -> [String] {
        let current = current
        return current.certificates.compactMap { $0.warning(at: now) }
            + current.clientRules.revocationLists.compactMap { $0.warning(at: now) }
            + current.neverShown.map {
                "the certificate in \($0.file) is never used: the one in \($0.instead) has"
                    + " the same names and the same kind of key; remove one of them"
            }
    }

    var current: TLSIdentities { identities.withLock { $0 } }

    /// The identities for a new session, and the generation that later tells if its client would
    /// still be admitted.
    func begin() -> (identities: TLSIdentities, generation: Int) {
        identities.withLock { ($0, generation.load(ordering: .relaxed)) }
    }

    func isOutdated(_ generation: Int) -> Bool {
        self.generation.load(ordering: .relaxed) != generation
    }
}

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
                    guard let context = SSL_CTX_new(TLS_server_method()) else {
                        throw .library(reason: TLSReason.take())
                    }
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

/// Applies the settings to an OpenSSL context.
func configure(
    _ context: OpaquePointer,
    _ settings: TLSSettings,
    _ clientRules: ClientRules
) throws(TLSError) {
    let version =
        switch settings.minimumVersion {
        case .tls12: TLS1_2_VERSION
        case .tls13: TLS1_3_VERSION
        }
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(version), nil)
    SSL_CTX_set_options(context, sluice_server_options())
    // Partial writes, because the kernel may take less than a whole answer. Moving buffers, because
    // the answer's array may move between writes. Released buffers, so that an idle connection
    // holds none.
    let modes =
        SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
        | SSL_MODE_RELEASE_BUFFERS
    SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(modes), nil)
    // Reads a record's header and content with one call.
    SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, nil)
    // OpenSSL keeps client certificates parsed, ten times their size. A chain takes a few KiB.
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_CERT_LIST, 16 << 10, nil)
    guard SSL_CTX_set_cipher_list(context, settings.ciphers) == 1 else {
        ERR_clear_error()
        throw .noSuchCiphers(settings.ciphers)
    }
    // Sessions are resumed with tickets, which cost the server no memory. A ticket holds the
    // client's certificate and ends with the context: after a reload every client shows its
    // certificate again.
    SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
    TLSTickets.use(in: context, for: Int(settings.sessionTime.components.seconds))
    let name = Array("sluice".utf8)
    SSL_CTX_set_session_id_context(context, name, UInt32(name.count))
    // A device keeps one connection; OpenSSL would make two tickets for each handshake.
    SSL_CTX_set_num_tickets(context, 1)
    chooseHTTP(in: context)
    try clientRules.apply(to: context)
}

/// ALPN's list of what is served: a name behind its length. OpenSSL refers to it.
private let servedProtocols = StaticString("\u{8}http/1.1")

/// ALPN chooses HTTP/1.1 and refuses a client that offers no such protocol (RFC 7301 section 3.2).
private func chooseHTTP(in context: OpaquePointer) {
    let choose: SSL_CTX_alpn_select_cb_func = { _, chosen, chosenCount, offered, offeredCount, _ in
        var name: UnsafeMutablePointer<UInt8>?
        let choice = SSL_select_next_proto(
            &name,
            chosenCount,
            servedProtocols.utf8Start,
            UInt32(servedProtocols.utf8CodeUnitCount),
            offered,
            offeredCount
        )
        guard choice == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_ALERT_FATAL }
        chosen?.pointee = UnsafePointer(name)
        return SSL_TLSEXT_ERR_OK
    }
    SSL_CTX_set_alpn_select_cb(context, choose, nil)
}

/// Limits resumption to the agreed time after a client showed its certificate.
///
/// OpenSSL gives each resumed client a new ticket with a new lifetime, and does not check its
/// certificate again. So each ticket carries the time at which its session began, and that time
/// decides.
enum TLSTickets {
    static func use(in context: OpaquePointer, for seconds: Int) {
        SSL_CTX_set_timeout(context, seconds)
        SSL_CTX_set_session_ticket_cb(
            context,
            { session, _ in
                let ticket = SSL_get_session(session)
                guard began(ticket) == nil else { return 1 }
                var now = Int64(time(nil))
                return SSL_SESSION_set1_ticket_appdata(ticket, &now, MemoryLayout<Int64>.size)
            },
            { session, ticket, _, _, status, _ in
                let isGood = status == SSL_TICKET_SUCCESS
                guard isGood || status == SSL_TICKET_SUCCESS_RENEW,
                    mayBeUsed(ticket, for: SSL_CTX_get_timeout(SSL_get_SSL_CTX(session)))
                else { return SSL_TICKET_RETURN_IGNORE_RENEW }
                return isGood ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW
            },
            nil
        )
    }
}

private func mayBeUsed(_ ticket: OpaquePointer?, for seconds: Int) -> Bool {
    let now = Int64(time(nil))
    guard let began = began(ticket), began <= now, now - began < Int64(seconds) else {
        return false
    }
    guard let certificate = SSL_SESSION_get0_peer(ticket) else { return true }
    // A result of 1 means later than now.
    return X509_cmp_current_time(X509_get0_notAfter(certificate)) == 1
}

private func began(_ ticket: OpaquePointer?) -> Int64? {
    var bytes: UnsafeMutableRawPointer?
    var count = 0
    guard SSL_SESSION_get0_ticket_appdata(ticket, &bytes, &count) == 1, let bytes,
        count == MemoryLayout<Int64>.size
    else { return nil }
    return bytes.loadUnaligned(as: Int64.self)
}
