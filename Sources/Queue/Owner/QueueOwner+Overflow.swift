import System

extension QueueOwner {
    /// After a commit: logs that made room for others are gone for good.
    func countDropped(in store: OpenStore) {
        for (name, logs) in store.dropped {
            counts.dropped[name, default: 0] += logs
            droppedUnsaid[name, default: 0] += logs
        }
        store.dropped.removeAll(keepingCapacity: true)
    }

    /// Says once a minute, for each destination, how many that were.
    func announceDropped() {
        for (name, logs) in droppedUnsaid where nextDropped[name, default: .now] <= .now {
            droppedUnsaid[name] = nil
            nextDropped[name] = .now + .seconds(60)
            journal.warning(
                "logs expired: the oldest made room for new ones",
                [
                    "destination": name, "logs": logs,
                    "remedy": "see why logs do not leave, or raise queue.max_bytes",
                ]
            )
        }
    }
}
