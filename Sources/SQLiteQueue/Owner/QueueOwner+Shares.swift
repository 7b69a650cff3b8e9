import Queue
import System

extension QueueOwner {
    /// Counts a batch that was refused for its streams, and says once a minute of a destination and key whose share
    /// that was.
    func noteShortage(_ refusal: QueueAdmission, _ append: Append) {
        switch refusal {
        case .tooManyStreams: counts.streamRefusals.queue += 1
        case .tooManyStreamsOfDestination: counts.streamRefusals.destination += 1
        case .tooManyStreamsOfSender: counts.streamRefusals.sender += 1
        default: return
        }
        guard let stream = append.batches.first?.stream else { return }
        // Keys and destinations are the operator's, so these are few.
        let subject = "\(refusal) \(append.sender ?? stream.destination)"
        guard nextShortage[subject, default: .now] <= .now else { return }
        nextShortage[subject] = .now + .seconds(60)
        journal.warning(
            "batches are refused: too many streams wait",
            [
                "share_of": Self.holder(refusal), "destination": stream.destination,
                "key": append.sender ?? "none", "limit": configuration.streamsMax,
                "remedy": "fold tags that differ by device (fold_tags), or raise queue.max_streams",
            ]
        )
    }

    private static func holder(_ refusal: QueueAdmission) -> String {
        switch refusal {
        case .tooManyStreamsOfDestination: "destination"
        case .tooManyStreamsOfSender: "key"
        default: "queue"
        }
    }
}
