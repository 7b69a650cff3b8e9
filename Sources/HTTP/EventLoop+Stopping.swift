import Net
import System

extension EventLoop {
    /// Stops accepting, lets requests in progress finish, and ends at the deadline.
    func beginStopping(by deadline: Moment) {
        stopDeadline = stopDeadline.map { min($0, deadline) } ?? deadline
        guard let listener else { return }
        // Clients in the backlog believe that they are connected, and closing the listener would reset them. So they
        // are accepted first.
        acceptWaiting(upTo: 4096)
        port.poller.forget(listener.descriptor)
        listener.stopListening()
        wheel.disarm(Slot.listener)
        self.listener = nil
        // A turn reads input that has just arrived; a connection that is idle after it is closed.
        for connection in connections {
            guard let connection else { continue }
            guard let stream = connection.stream else {
                takeTurn(connection)
                continue
            }
            // A stream has no known end, and neither has a slow reader, so it is cut.
            stream.end(.cut)
            takeTurn(connection)
            if connection.hasOutput { close(connection) }
        }
    }
}
