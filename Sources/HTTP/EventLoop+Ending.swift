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
        // The stream closes last, because its writer may read these counters.
        connection.stream?.close()
        connection.stream = nil
    }

    /// True if the client can break the connection without losing anything.
    func isLeaving(_ connection: ClientConnection) -> Bool {
        switch connection.phase {
        // Clients end an endless stream by closing the connection.
        case .introducing, .idle, .streaming, .lingering, .closed: true
        case .finishing: !connection.hasOutput
        case .handshaking, .head, .body, .answering: false
        }
    }
}
