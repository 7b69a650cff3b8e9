import Queue
import System

extension QueueOwner {
    /// Also holds for a store that is opened later.
    func apply(_ rules: [String: DestinationRules], _ bounds: QueueBounds?) {
        var new = configuration
        new.destinations = rules
        if let bounds { new.apply(bounds) }
        let moved = store?.moved(by: new) ?? []
        configuration = new
        guard !moved.isEmpty else {
            store?.apply(new)
            return
        }
        reread()
    }

    /// Streams get other places only when they are read from the disk. It is rare, and takes as long as a start.
    private func reread() {
        door.stopReading()
        store = nil
        do {
            try open()
            publish()
        } catch {
            close(because: error)
        }
    }
}
