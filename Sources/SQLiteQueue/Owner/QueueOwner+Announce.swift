import Queue
import System

extension QueueOwner {
    /// Says in the journal when batches begin to be refused and when they are taken again. A queue at its
    /// bound goes back and forth with each packet that leaves, so the first is said once a minute at most,
    /// and the second only after it.
    func announce(_ admission: QueueAdmission) {
        // A store that cannot be written has a line of its own.
        guard let store, admission != announced else { return }
        switch admission {
        case .open:
            announced = .open
            journal.info("queue takes batches again", ["bytes": store.bytes])
        case .full where nextWarning <= .now:
            announced = .full
            nextWarning = .now + .seconds(60)
            journal.warning(
                "queue is full and refuses batches",
                [
                    "bytes": store.bytes, "limit": configuration.bytesMax,
                    "remedy": "see why logs do not leave, or raise queue.max_bytes",
                ]
            )
        case .diskFull where nextWarning <= .now:
            announced = .diskFull
            nextWarning = .now + .seconds(60)
            journal.warning(
                "queue refuses batches: the disk is nearly full",
                [
                    "free_bytes": disk.freeBytes, "limit": configuration.freeBytesMin,
                    "remedy": "free some space, or lower queue.min_free_bytes",
                ]
            )
        case .full, .diskFull, .destinationFull, .tooManyLogstores, .failing, .stopping,
            .tooManyStreams, .tooManyStreamsOfDestination, .tooManyStreamsOfSender:
            break
        }
    }
}
