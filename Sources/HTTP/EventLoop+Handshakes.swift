import Net
import System

/// How a TLS connection begins. There is nothing to answer before, so what fails ends without a word
/// but TLS's own.
extension EventLoop {
    func shakeHands(_ connection: Connection) -> Step {
        do throws(HandshakeError) {
            guard try connection.socket.handshake() else { return .waits }
        } catch {
            tally.tlsFailures.add()
            journal.debug(
                "a TLS handshake failed",
                ["peer": connection.peer.host, "reason": error.reason]
            )
            // The client may have sent more by now, and a reset would take the alert from it.
            connection.socket.finishWriting()
            connection.phase = .lingering
            connection.lingeringBegan = now
            return .advanced
        }
        tally.tlsHandshakes.add()
        if connection.socket.isResumed { tally.tlsResumptions.add() }
        connection.beIdentified(as: connection.socket.clientName)
        connection.phase = .idle
        return .advanced
    }
}
