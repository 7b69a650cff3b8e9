import Net
import System

extension EventLoop {
    func close(_ connection: ClientConnection) {
        guard !connection.isClosed else { return }
        connection.phase = .closed
        connection.abandonment?.set()
        connection.input.discard(to: &pool)
        giveBackHeld(connection)
        let slot = Int(connection.token.slot)
        wheel.disarm(slot)
        if connection.isTurnedAway {
            turnedAwayCount -= 1
        } else {
            port.census.leave(from: connection.censusPlace)
        }
        if connection.isCut || connection.isStreaming || connection.hasOutput {
            connection.socket.breakOff()
        }
        connections[slot] = nil
        freeSlots.append(slot)
        // Its writer may look at what has just been counted.
        connection.stream?.close()
        connection.stream = nil
    }

    /// Whether a connection that its client breaks has nothing to lose any more.
    func isLeaving(_ connection: ClientConnection) -> Bool {
        switch connection.phase {
        // Leaving is how clients end what has no end.
        case .introducing, .idle, .streaming, .lingering, .closed: true
        case .finishing: !connection.hasOutput
        case .handshaking, .head, .body, .answering: false
        }
    }
}
