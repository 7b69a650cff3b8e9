import Net
import System

/// Streams: answers whose body is written over time.
extension EventLoop {
    /// Begins after the head. The turn continues with the stream, which may be finished already.
    func begin(_ stream: StreamedBody, on connection: ClientConnection, keepsAlive: Bool) {
        connection.stream = stream
        connection.keepsAlive = keepsAlive
        connection.phase = .streaming
        if stopDeadline != nil { stream.end(.cut) }
    }

    /// The stream's writer added bytes, or ended.
    func continueStream(of token: PollToken) {
        guard let connection = connection(for: token), connection.isStreaming else { return }
        takeTurn(connection)
    }

    /// Takes all pending bytes once a turn: a writer that is faster than the client must let other connections in. A
    /// turn gets here only when everything taken before is sent.
    func continueStream(_ connection: ClientConnection) -> Step {
        guard let stream = connection.stream else { return .waits }
        // A stream may outlive the certificate or the rules that admitted its client.
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
