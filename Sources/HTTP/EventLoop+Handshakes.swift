import Net
import System

/// How a TLS connection begins. There is nothing to answer before, so what fails ends without a word
/// but TLS's own; only who does not speak TLS at all is told so in plain words.
extension EventLoop {
    /// Handshakes of one round. Each takes up to a millisecond (a signature with RSA), so that many
    /// clients that come together must not keep those from their answers that are here.
    static let handshakesPerRound = 8

    func shakeHands(_ connection: ClientConnection) -> Step {
        // OpenSSL takes its buffers at the first look, and a client that says nothing needs none.
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

    /// Whether the first bytes are there, or the end.
    private func hears(_ connection: ClientConnection) -> Bool {
        let first = UnsafeMutableRawBufferPointer(start: scratch.memory, count: 1)
        if case .wouldBlock? = try? connection.socket.peek(into: first) { return false }
        connection.isHeard = true
        return true
    }

    /// Nothing more is to be said. The client may have sent more by now, and a reset would take from it
    /// what was said: an alert of TLS.
    func leave(_ connection: ClientConnection) {
        dropBody(connection)
        connection.socket.finishWriting()
        connection.phase = .lingering
        connection.lingeringBegan = now
    }

    /// It fits into what the kernel takes of a new connection, and whoever reads on need not know more.
    private func answerPlainly(_ connection: ClientConnection) {
        tally.malformed.add()
        let response = handler.answer(to: .spokePlainly, head: nil)
        var bytes: [UInt8] = []
        ResponseWriter(closes: true).write(response, stampedBy: handler, to: &bytes)
        tally.countAnswer(status: response.status)
        tally.bytesOut.add(bytes.count)
        bytes.withUnsafeBytes { connection.socket.sendPlainly($0) }
    }
}

extension RequestProblem {
    fileprivate static let spokePlainly = malformed(
        "this port speaks TLS, the client began with plain HTTP; use https"
    )
    /// 503 has clients keep what they have and come again; TLS then says whether they may.
    static let staleClient = RequestProblem(
        status: 503,
        reason:
            "the certificate that this connection began with has ended, or the rules for clients "
            + "have changed; connect again"
    )
}
