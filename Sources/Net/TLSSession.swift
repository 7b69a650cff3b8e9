import COpenSSL
import Glibc
import System

/// One connection's TLS over a borrowed descriptor.
///
/// No call blocks, because the descriptor does not. OpenSSL writes without MSG_NOSIGNAL, which is
/// harmless because SIGPIPE is masked or ignored in every `Worker`.
///
/// What a socket asks of it are functions: properties cannot be read through `?` here.
struct TLSSession: ~Copyable, @unchecked Sendable {
    /// Only the thread that has the connection uses it.
    private let session: OpaquePointer
    private let descriptor: CInt
    private let context: TLSContext
    /// Kept alive because OpenSSL's callbacks point to it.
    private let identities: TLSIdentities
    /// The generation of the client rules at the start of the session.
    private let generation: Int
    private let memory = TLSMemory()

    /// nil when memory is short.
    init?(_ context: TLSContext, over descriptor: CInt) {
        let before = TLSMemory.ofThread
        let (identities, generation) = context.begin()
        guard let session = identities.newSession() else { return nil }
        guard SSL_set_fd(session, descriptor) == 1 else {
            SSL_free(session)
            return nil
        }
        SSL_set_accept_state(session)
        TLSReader(of: session).watch(session)
        self.session = session
        self.descriptor = descriptor
        self.context = context
        self.identities = identities
        self.generation = generation
        memory.note(since: before)
    }

    /// Memory beyond that of every TLS connection: a handshake in progress, parts of records.
    func heldBytes() -> Int { memory.heldBytes }

    deinit { SSL_free(session) }

    /// True when the handshake is done; until then, call it after each change of the descriptor.
    func handshake() throws(HandshakeError) -> Bool {
        let before = TLSMemory.ofThread
        defer { memory.note(since: before) }
        ERR_clear_error()
        let result = SSL_do_handshake(session)
        guard result != 1 else {
            memory.settle(since: before, hasPending: SSL_has_pending(session) == 1)
            try refuseDenied()
            return true
        }
        let problem = SSL_get_error(session, result)
        if problem == SSL_ERROR_WANT_READ || problem == SSL_ERROR_WANT_WRITE { return false }
        giveUp()
        guard problem == SSL_ERROR_SSL else {
            throw HandshakeError(kind: .closed, reason: "the client ended the connection")
        }
        let isPlain = ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_HTTP_REQUEST
        let reason = TLSReason.take()
        let verdict = SSL_get_verify_result(session)
        throw HandshakeError(
            kind: isPlain ? .plainHTTP : .refused,
            reason: verdict == Int(X509_V_OK)
                ? reason : "\(reason): \(String(cString: X509_verify_cert_error_string(verdict)))"
        )
    }

    /// A valid certificate may still have a denied name. Resumed sessions are checked too.
    private func refuseDenied() throws(HandshakeError) {
        guard identities.clientRules.refusesNames, let client = clientCertificate(),
            let name = identities.clientRules.deniedName(of: client.names)
        else { return }
        giveUp()
        throw HandshakeError(kind: .refused, reason: "the certificate's name \(name) is in deny")
    }

    func receive(into room: UnsafeMutableRawBufferPointer) throws(SystemError) -> Outcome {
        TLSReader(of: session).forget()
        // After close_notify, or after a failed handshake, input is read only to discard it.
        guard SSL_get_shutdown(session) & SSL_SENT_SHUTDOWN == 0 else {
            return try attempt("recv") { recv(descriptor, room.baseAddress, room.count, 0) }
        }
        let before = TLSMemory.ofThread
        defer { memory.note(since: before) }
        ERR_clear_error()
        var count = 0
        let result = SSL_read_ex(session, room.baseAddress, room.count, &count)
        return try outcome("SSL_read", result, count)
    }

    /// True if the last `receive` asked the kernel, and neither the kernel nor OpenSSL has more.
    func isEmptied() -> Bool {
        SSL_has_pending(session) == 0 && TLSReader(of: session).wasEmptied
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Outcome {
        let before = TLSMemory.ofThread
        defer { memory.note(since: before) }
        ERR_clear_error()
        var count = 0
        let result = SSL_write_ex(session, bytes.baseAddress, bytes.count, &count)
        return try outcome("SSL_write", result, count)
    }

    /// Sends close_notify if the kernel takes it at once; nothing waits for it.
    func finish() {
        ERR_clear_error()
        SSL_shutdown(session)
    }

    /// Stops sending, close_notify included, and ignores further input.
    func giveUp() {
        // In the middle of a handshake OpenSSL does not do this by itself.
        SSL_set_shutdown(session, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        SSL_set_quiet_shutdown(session, 1)
    }

    func isResumed() -> Bool { SSL_session_reused(session) == 1 }

    /// The client's identity, if the handshake verified a certificate.
    func clientCertificate() -> ClientCertificate? {
        SSL_get0_peer_certificate(session).map { ClientCertificate($0) }
    }

    /// True if the rules for clients have changed since this client was admitted.
    func isOutdated() -> Bool { context.isOutdated(generation) }

    private func outcome(
        _ call: StaticString,
        _ result: CInt,
        _ count: Int
    ) throws(SystemError) -> Outcome {
        do throws(SystemError) {
            return try tlsOutcome(of: session, call, result, count)
        } catch {
            giveUp()
            throw error
        }
    }
}

/// Translates the result of `SSL_read_ex` or `SSL_write_ex`, right after the call. The end of the
/// peer's data is `.done(0)`. After an error the session is of no use.
func tlsOutcome(
    of session: OpaquePointer,
    _ call: StaticString,
    _ result: CInt,
    _ count: Int
) throws(SystemError) -> Outcome {
    guard result != 1 else { return .done(count) }
    let code = errno
    switch SSL_get_error(session, result) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .wouldBlock
    case SSL_ERROR_ZERO_RETURN: return .done(0)
    case SSL_ERROR_SYSCALL:
        throw SystemError(call: "\(call)", code: code == 0 ? ECONNRESET : code)
    default:
        throw SystemError(call: "\(call)", code: EPROTO)
    }
}

/// Why a TLS handshake failed, for the operator.
package struct HandshakeError: Error, Equatable {
    package enum Kind: Sendable, Equatable {
        /// The client closed the connection silently, as port scanners and health checks do.
        case closed
        /// The client sent an unencrypted request. Nothing was sent to it yet.
        case plainHTTP
        case refused
    }

    package let kind: Kind
    package let reason: String
}

/// Notes about a session's reads, taken while OpenSSL works on it.
///
/// OpenSSL calls back from within its own calls. The notes are kept in the reader's callback
/// argument, which both sides can reach; it is as large as a pointer and costs no memory.
struct TLSReader {
    /// The limit of handshake messages in one call. A handshake has at most seven.
    ///
    /// OpenSSL processes messages between requests (KeyUpdate, renegotiation attempts) for as long
    /// as they come. A client that sends nothing else would hold its loop inside one `SSL_read`.
    static let messagesMax = 16

    private let reader: OpaquePointer?

    init(of session: OpaquePointer?) {
        reader = SSL_get_rbio(session)
    }

    /// Starts taking notes.
    func watch(_ session: OpaquePointer) {
        BIO_set_callback_ex(reader) { reader, operation, _, room, _, _, result, count in
            if operation == BIO_CB_READ, TLSReader(reader).messages > TLSReader.messagesMax {
                // The error must not look retryable.
                BIO_clear_flags(reader, BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY)
                errno = EPROTO
                return -1
            }
            if operation == BIO_CB_READ | BIO_CB_RETURN, result > 0, let count {
                TLSReader(reader).wasEmptied = count.pointee < room
            }
            return Int(result)
        }
        SSL_set_msg_callback(session) { isOurs, _, kind, _, _, session, _ in
            guard isOurs == 0, kind == SSL3_RT_HANDSHAKE else { return }
            TLSReader(of: session).messages += 1
        }
    }

    /// Clears the notes before a call: buffered records tell nothing about the socket.
    func forget() { BIO_set_callback_arg(reader, nil) }

    /// True if the last read returned less than it had room for. The socket is then empty until the
    /// next event, and another read would only waste a system call.
    fileprivate(set) var wasEmptied: Bool {
        get { notes & 1 == 1 }
        nonmutating set { notes = notes & ~1 | (newValue ? 1 : 0) }
    }

    /// Handshake messages since `forget`.
    fileprivate var messages: Int {
        get { notes >> 1 }
        nonmutating set { notes = newValue << 1 | notes & 1 }
    }

    private var notes: Int {
        get { Int(bitPattern: BIO_get_callback_arg(reader)) }
        nonmutating set {
            // The pointer is a number in disguise and is never dereferenced.
            BIO_set_callback_arg(reader, UnsafeMutablePointer<CChar>(bitPattern: newValue))
        }
    }

    fileprivate init(_ reader: OpaquePointer?) {
        self.reader = reader
    }
}

/// Counts the memory that OpenSSL holds for one session, through OpenSSL's own allocations. Only
/// the session's thread uses it.
///
/// OpenSSL allocates room for a message once four bytes have told its length (128 KiB for a
/// ClientHello), and a buffer for each record that has begun. So a client decides how much memory
/// it takes.
final class TLSMemory {
    /// What an idle TLS connection may hold uncharged; docs/scaling.md counts it for each.
    private static let idleBytes = 16 << 10
    /// The same with a client certificate and two intermediates. Anything above is charged.
    private static let settledMax = 32 << 10
    /// The record buffer, which exists while part of a record is pending.
    private static let recordBytes = 17 << 10

    private var bytes = 0
    /// The size after the handshake; a client certificate increases it.
    private var settledBytes = idleBytes

    static var ofThread: Int { sluice_openssl_bytes() }

    var heldBytes: Int { max(0, bytes - settledBytes) }

    func note(since before: Int) {
        bytes += Self.ofThread - before
    }

    /// Records the size after the handshake. Bytes that followed the handshake are in transit, so
    /// their record buffer does not count as idle memory.
    func settle(since before: Int, hasPending: Bool) {
        let held = bytes + Self.ofThread - before - (hasPending ? Self.recordBytes : 0)
        settledBytes = min(max(Self.idleBytes, held), Self.settledMax)
    }
}
