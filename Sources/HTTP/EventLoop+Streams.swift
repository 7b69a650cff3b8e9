import Net
import System

/// Answers whose body comes over time.
extension EventLoop {
    /// After the head. Since the stream may have been finished at once, the turn goes on with it.
    func begin(_ stream: StreamedBody, on connection: ClientConnection, keepsAlive: Bool) {
        connection.stream = stream
        connection.keepsAlive = keepsAlive
        connection.phase = .streaming
        if stopDeadline != nil { stream.end(.cut) }
    }

    /// Its writer has something, or has ended.
    func continueStream(of token: PollToken) {
        guard let connection = connection(for: token), connection.isStreaming else { return }
        takeTurn(connection)
    }

    /// Takes what there is, once a turn: a writer that is faster than the client must let others in.
    /// The turn comes here only when all that was taken before has been sent.
    func continueStream(_ connection: ClientConnection) -> Step {
        guard let stream = connection.stream else { return .waits }
        // It may outlive what its client was let in with.
        if connection.isStale { stream.end(.cut) }
        guard let end = stream.take(into: &outgoing) else { return .waits }
        connection.stream = nil
        connection.mustRearm = true
        connection.isCut = end == .cut
        let goesOn = end == .complete && connection.keepsAlive && stopDeadline == nil
        connection.phase = goesOn ? .idle : .finishing
        stream.close()
        return .advanced
    }
}
