import Queue
import System

extension QueueOwner {
    /// Says when a destination begins to refuse batches and when it takes them again, the first once a minute
    /// at most and the second only after it.
    func announce(_ name: String, _ admission: QueueAdmission, _ destination: QueuedDestination) {
        if admission == .open, announcedFull.remove(name) != nil {
            journal.info("destination takes batches again", ["destination": name])
        }
        guard admission == .destinationFull, !announcedFull.contains(name),
            nextWarningOf[name, default: .now] <= .now
        else { return }
        announcedFull.insert(name)
        nextWarningOf[name] = .now + .seconds(60)
        journal.warning(
            "destination is full and refuses batches",
            [
                "destination": name, "bytes": destination.bytes,
                "limit": destination.rules.bytesMax,
                "remedy": "see why logs do not leave, or raise the destination's max_bytes",
            ]
        )
    }

    /// At one of the doors a batch was refused for its logstore.
    func noteCrowded(_ append: Append) {
        for batch in append.batches { door.crowded(batch.stream.destination) }
    }

    /// Says once a minute which destinations refuse batches for more logstores.
    func announceCrowded(in store: OpenStore) {
        for name in door.takeCrowded() where nextCrowded[name, default: .now] <= .now {
            guard let destination = store.destinations[name] else { continue }
            nextCrowded[name] = .now + .seconds(60)
            journal.warning(
                "batches are refused: too many logstores have logs in the queue",
                [
                    "destination": name, "limit": destination.rules.logstoresMax,
                    "remedy": "see which take none, or raise the destination's logstores_max",
                ]
            )
        }
    }
}
