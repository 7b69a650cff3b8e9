import COpenSSL
import Glibc
import System

/// One connection's TLS over a descriptor that stays its owner's.
///
/// Nothing here blocks: the descriptor does not. OpenSSL writes without MSG_NOSIGNAL, which is harmless
/// where SIGPIPE is masked or ignored, as in every `Worker`.
struct TLSSession: ~Copyable, @unchecked Sendable {
    /// Used by one thread at a time, the one that has the connection.
    private let session: OpaquePointer
    private let descriptor: CInt
    /// The callbacks of OpenSSL point to it.
    private let identities: TLSIdentities

    /// Nil without memory.
    init?(_ context: TLSContext, over descriptor: CInt) {
        let identities = context.current
        guard let session = identities.newSession() else { return nil }
        guard SSL_set_fd(session, descriptor) == 1 else {
            SSL_free(session)
            return nil
        }
        SSL_set_accept_state(session)
        BIO_set_callback_ex(SSL_get_rbio(session), rememberShortReads)
        self.session = session
        self.descriptor = descriptor
        self.identities = identities
    }

    deinit { SSL_free(session) }

    /// True when it is done; until then each change of the descriptor asks for another try.
    func handshake() throws(HandshakeError) -> Bool {
        ERR_clear_error()
        let result = SSL_do_handshake(session)
        guard result != 1 else { return true }
        let problem = SSL_get_error(session, result)
        if problem == SSL_ERROR_WANT_READ || problem == SSL_ERROR_WANT_WRITE { return false }
        let verdict = SSL_get_verify_result(session)
        let reason =
            problem == SSL_ERROR_SSL ? TLSReason.take() : "the client ended the connection"
        giveUp()
        throw HandshakeError(
            reason: verdict == Int(X509_V_OK)
                ? reason : "\(reason): \(String(cString: X509_verify_cert_error_string(verdict)))"
        )
    }

    func receive(into room: UnsafeMutableRawBufferPointer) throws(SystemError) -> Outcome {
        // A record that was in the buffer says nothing about what has come since.
        BIO_set_callback_arg(SSL_get_rbio(session), nil)
        // After the end of our side, which may be a failed handshake, what comes is of no interest.
        guard SSL_get_shutdown(session) & SSL_SENT_SHUTDOWN == 0 else {
            return try attempt("recv") { recv(descriptor, room.baseAddress, room.count, 0) }
        }
        ERR_clear_error()
        var count = 0
        let result = SSL_read_ex(session, room.baseAddress, room.count, &count)
        return try outcome("SSL_read", result, count)
    }

    /// Whether the last `receive` asked the kernel, and neither it nor OpenSSL has more.
    var isEmptied: Bool {
        SSL_has_pending(session) == 0 && BIO_get_callback_arg(SSL_get_rbio(session)) != nil
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Outcome {
        ERR_clear_error()
        var count = 0
        let result = SSL_write_ex(session, bytes.baseAddress, bytes.count, &count)
        return try outcome("SSL_write", result, count)
    }

    /// Sends close_notify, if the kernel takes it at once: nobody waits for it.
    func finish() {
        ERR_clear_error()
        SSL_shutdown(session)
    }

    /// Nothing is sent any more, not even close_notify.
    func giveUp() {
        SSL_set_quiet_shutdown(session, 1)
        finish()
    }

    var isResumed: Bool { SSL_session_reused(session) == 1 }

    /// Of a client that has shown a certificate, which was checked with the handshake.
    var clientName: String? {
        guard let certificate = SSL_get0_peer_certificate(session) else { return nil }
        return certificateNames(certificate).first?.text
    }

    private func outcome(
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
            giveUp()
            throw SystemError(call: "\(call)", code: code == 0 ? ECONNRESET : code)
        default:
            giveUp()
            throw SystemError(call: "\(call)", code: EPROTO)
        }
    }
}

/// Marks a descriptor's reader when it was given less than it had room for: nothing is left there until
/// the next event, and another try would only be a system call to hear so.
private func rememberShortReads(
    _ reader: OpaquePointer?,
    _ operation: CInt,
    _ bytes: UnsafePointer<CChar>?,
    _ room: Int,
    _ whole: CInt,
    _ long: Int,
    _ result: CInt,
    _ count: UnsafeMutablePointer<Int>?
) -> Int {
    if operation == BIO_CB_READ | BIO_CB_RETURN, result > 0, let count {
        // Any pointer but nil; nobody follows it.
        let mark = count.pointee < room ? UnsafeMutablePointer<CChar>(bitPattern: 1) : nil
        BIO_set_callback_arg(reader, mark)
    }
    return Int(result)
}

/// Why a client and the server did not come together, for whoever looks for the reason.
package struct HandshakeError: Error, Equatable {
    package let reason: String
}
