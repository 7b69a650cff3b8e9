import Queue
import System

extension QueueOwner {
    /// After a commit: logs that made room for others are gone for good.
    func countDropped(in store: OpenStore) {
        for (overflowed, logs) in store.dropped {
            counts.dropped[overflowed.destination, default: 0] += logs
        }
        droppedUnsaid.add(store.dropped)
        store.dropped.removeAll(keepingCapacity: true)
    }

    /// Says once a minute, for each destination, how many that were.
    func announceDropped() {
        for (overflowed, logs) in droppedUnsaid.takeDue(.now) {
            let key = overflowed.isOwnBound ? "the destination's max_bytes" : "queue.max_bytes"
            journal.warning(
                "logs expired: the oldest made room for new ones",
                [
                    "destination": overflowed.destination, "logs": logs,
                    "remedy": "see why logs do not leave, or raise \(key)",
                ]
            )
        }
    }
}
