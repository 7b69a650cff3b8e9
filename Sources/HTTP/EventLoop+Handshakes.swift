import Net
import System

/// TLS handshakes. A failed handshake ends with TLS's own alert, because no request exists to answer. Only a client
/// that does not speak TLS at all gets a plain-text answer.
extension EventLoop {
    /// Handshakes in one round. Each takes up to a millisecond (an RSA signature), so a burst of new clients must not
    /// delay the answers of existing ones.
    static let handshakesPerRound = 8

    func shakeHands(_ connection: ClientConnection) -> Step {
        // OpenSSL allocates its buffers at the first call, and a silent client needs none.
        guard connection.isHeard || hears(connection) else { return .waits }
        do throws(HandshakeError) {
            guard try connection.socket.handshake() else { return .waits }
        } catch {
            tally.tlsFailures.add()
            journal.debug(
                "a TLS handshake failed",
                ["peer": connection.peer.host, "reason": error.reason]
            )
            if error.kind != .left {
                notices.handshakeFailed(from: connection.peer.host, because: error.reason, at: now)
            }
            if error.kind == .spokePlainly { answerPlainly(connection) }
            leave(connection)
            return .advanced
        }
        tally.tlsHandshakes.add()
        if connection.socket.isResumed { tally.tlsResumptions.add() }
        if let certificate = connection.socket.clientCertificate {
            connection.beIdentified(by: certificate)
        }
        connection.phase = .idle
        connection.mustRearm = true
        return .advanced
    }

    /// True once the first bytes or the end have come.
    private func hears(_ connection: ClientConnection) -> Bool {
        let first = UnsafeMutableRawBufferPointer(start: scratch.memory, count: 1)
        if case .wouldBlock? = try? connection.socket.peek(into: first) { return false }
        connection.isHeard = true
        return true
    }

    /// Ends the connection without an answer. The client may have sent more, and a reset would destroy the TLS alert on
    /// its way.
    func leave(_ connection: ClientConnection) {
        dropBody(connection)
        connection.socket.finishWriting()
        connection.phase = .lingering
        connection.lingeringBegan = now
    }

    /// The answer fits into the kernel's buffer of a new connection, so one send is enough.
    private func answerPlainly(_ connection: ClientConnection) {
        tally.malformed.add()
        let response = handler.answer(to: .spokePlainly, head: nil, nil)
        var bytes: [UInt8] = []
        ResponseWriter(closes: true).write(response, stampedBy: handler, to: &bytes)
        tally.countAnswer(status: response.status)
        tally.bytesOut.add(bytes.count)
        bytes.withUnsafeBytes { connection.socket.sendPlainly($0) }
    }
}

extension RequestProblem {
    fileprivate static let spokePlainly = malformed(
        "this port speaks TLS, but the client sent plain HTTP; use https"
    )
    /// 503 makes clients keep their logs and reconnect; TLS then decides if they are still admitted.
    static let staleClient = RequestProblem(
        status: 503,
        reason:
            "the client certificate of this connection has expired, or the rules for clients "
            + "have changed; reconnect"
    )
}
