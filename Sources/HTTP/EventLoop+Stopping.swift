import Net
import System

extension EventLoop {
    /// Stops accepting, lets the requests that have begun finish, and ends at the deadline.
    func beginStopping(by deadline: Moment) {
        stopDeadline = stopDeadline.map { min($0, deadline) } ?? deadline
        guard let listener else { return }
        // Clients in the backlog believe that they are connected: closing the listener would reset
        // them. A failure here changes nothing about the stop.
        do throws(SystemError) {
            try acceptWaiting(upTo: 4096)
            if !isAcceptingPaused { try port.poller.forget(listener.descriptor) }
        } catch {
            journal.warning("the listener could not be emptied", ["reason": "\(error)"])
        }
        listener.stopListening()
        wheel.disarm(Slot.listener)
        self.listener = nil
        // A turn reads what has just come; whoever is idle after it is closed.
        for connection in connections {
            if let connection { takeTurn(connection) }
        }
    }
}
