import Net
import System

extension EventLoop {
    /// Stops accepting, lets the requests that have begun finish, and ends at the deadline.
    func beginStopping(by deadline: Moment) {
        stopDeadline = stopDeadline.map { min($0, deadline) } ?? deadline
        guard let listener else { return }
        // Clients in the backlog believe that they are connected: closing the listener would reset
        // them.
        acceptWaiting(upTo: 4096)
        port.poller.forget(listener.descriptor)
        listener.stopListening()
        wheel.disarm(Slot.listener)
        self.listener = nil
        // A turn reads what has just come; whoever is idle after it is closed.
        for connection in connections {
            guard let connection else { continue }
            guard let stream = connection.stream else {
                takeTurn(connection)
                continue
            }
            // Nobody knows when it would end by itself, or when a slow reader has read it.
            stream.end(.cut)
            takeTurn(connection)
            if connection.hasOutput { close(connection) }
        }
    }
}
