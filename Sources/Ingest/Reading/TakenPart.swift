import Configuration
import HTTP
import Logs
import Queue

/// The logs of one request for one stream, ready to be stored.
struct TakenPart {
    let target: RoutingTable.Target
    var logs: DecodedLogs
    var trailer: GroupTrailer

    /// The largest content of one request to SLS, without its pack id.
    private static let packetBytes = 10 << 20 - 64

    init(_ logs: DecodedLogs, _ trailer: GroupTrailer, _ target: RoutingTable.Target) {
        self.target = target
        self.logs = logs
        self.trailer = trailer
    }

    /// Logs with a device's tags. Tags that are repeated in each log may make the logs
    /// `repeatedBytesMax` large together; beyond that they become tags of the stream.
    init(
        _ group: LogGroup,
        _ target: RoutingTable.Target,
        _ limits: LogLimits,
        repeatedBytesMax: Int,
        foldsAll: Bool = false
    ) {
        let folding = foldsAll ? .all : target.intake.foldTags
        var tags = DeviceTags(group.tracked.tags, for: target, limits, folding: folding)
        var logs = tags.added(to: group.logs, atMost: repeatedBytesMax)
        if logs == nil, !tags.folded.isEmpty {
            tags = DeviceTags(group.tracked.tags, for: target, limits, folding: .none)
            logs = tags.added(to: group.logs, atMost: repeatedBytesMax)
        }
        let kept = logs == nil ? tags.keptMarkingCrowded : tags.kept
        self.init(
            logs ?? tags.crowdedAddedToFirst(of: group.logs, atMost: limits.valueBytes),
            target.labels.trailer(of: group, kept),
            target
        )
    }

    var stream: StreamKey {
        StreamKey(destination: target.destination, logstore: target.logstore, trailer: trailer)
    }

    /// The batch for the queue. A log that no packet can hold becomes a dead letter, whatever the
    /// policy.
    func batch() throws(Refusal) -> Batch {
        var logs = logs
        do throws(LogDecodingError) {
            try logs.setAside(largerThan: Self.packetBytes - trailer.bytes.count)
        } catch {
            // Our own encoding, not the client's.
            throw Refusal(500, "InternalServerError", "the logs were encoded wrongly")
        }
        let dead = logs.faulty.map { faulty in
            let reason = DeathReason(code: faulty.fault.code, message: faulty.fault.message)
            return Batch.Dead(logs: faulty.logs, reason: reason)
        }
        return Batch(
            stream: stream,
            logs: logs.sound,
            dead: dead,
            dropped: logs.dropped,
            isRequired: target.isRequired
        )
    }
}
