import HTTP
import Logs
import Queue

/// A request's logs as they are to be stored.
struct TakenRequest {
    private(set) var logs: DecodedLogs
    private(set) var trailer: GroupTrailer
    /// What it is recognised by when it comes again; nil when nothing tells.
    private(set) var identity: [UInt8]?

    /// What one request to SLS can carry, less its packet's id.
    private static let packetBytes = 10 << 20 - 64

    /// Plain logs.
    init(_ logs: DecodedLogs, tag: String, _ target: RoutingTable.Target) {
        self.logs = logs
        trailer = target.labels.trailer(tag: tag)
    }

    /// Tracked logs, read from `content`, which tells a repeated packet where those are recognised.
    /// Folded tags may make them `foldedBytesMax` large together; else the tags are the stream's after all.
    init(
        _ tracked: TrackedLogs,
        _ target: RoutingTable.Target,
        content: UnsafeRawBufferPointer?,
        foldedBytesMax: Int
    ) {
        var tags = DeviceTags(tracked.tags, for: target, folding: target.intake.foldTags)
        logs = tracked.logs
        if !tags.folded.isEmpty {
            if let folded = logs.adding(tags.folded, atMost: foldedBytesMax) {
                logs = folded
            } else {
                tags = DeviceTags(tracked.tags, for: target, folding: .none)
            }
        }
        trailer = target.labels.trailer(of: tracked, tags)
        if let content, let packID = tags.packID {
            identity = RequestIdentity.packet(
                packID,
                topic: target.labels.topic(of: tracked),
                content: content,
                target
            )
        }
    }

    /// The client's own name for the request counts more than what is in it.
    mutating func name(
        _ key: String,
        content: UnsafeRawBufferPointer,
        _ target: RoutingTable.Target
    ) {
        identity = RequestIdentity.named(key, content: content, target)
    }

    /// The batch for the queue. A log that no packet can carry is set aside whatever the policy.
    func batch(_ target: RoutingTable.Target) throws(Refusal) -> Batch {
        var logs = logs
        do throws(ProtobufError) {
            try logs.setAside(largerThan: Self.packetBytes - trailer.bytes.count)
        } catch {
            // Our own encoding: nobody sent it.
            throw Refusal(500, "InternalServerError", "the logs were encoded wrongly")
        }
        let dead = logs.faulty.map { faulty in
            let reason = DeathReason(code: faulty.fault.code, message: faulty.fault.message)
            return Batch.Dead(logs: faulty.logs, reason: reason)
        }
        let stream = StreamKey(
            destination: target.destination,
            logstore: target.logstore,
            trailer: trailer
        )
        return Batch(stream: stream, logs: logs.sound, dead: dead, dropped: logs.dropped)
    }
}
