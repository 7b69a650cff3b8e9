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

    /// Logs with a device's tags. Tags that are repeated in each log may make the logs
    /// `repeatedBytesMax` large together; beyond that they become tags of the stream.
    init(
        _ group: LogGroup,
        _ target: RoutingTable.Target,
        _ limits: LogLimits,
        repeatedBytesMax: Int,
        foldsAll: Bool = false
    ) {
        self.target = target
        guard !group.tracked.tags.isEmpty else {
            logs = group.logs
            trailer = target.site.labels.trailer(of: group, [])
            return
        }
        let folding = foldsAll ? .all : target.intake.foldTags
        var tags = DeviceTags(group.tracked.tags, for: target, limits, folding: folding)
        var logs = tags.added(to: group.logs, atMost: repeatedBytesMax)
        if logs == nil, !tags.folded.isEmpty {
            tags = DeviceTags(group.tracked.tags, for: target, limits, folding: .none)
            logs = tags.added(to: group.logs, atMost: repeatedBytesMax)
        }
        let kept = logs == nil ? tags.keptMarkingCrowded : tags.kept
        self.logs = logs ?? tags.crowdedAddedToFirst(of: group.logs, atMost: limits.valueBytes)
        trailer = target.labels.trailer(of: group, kept)
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
            throw .encodedWrongly
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

/// The parts of a request, one for each stream.
struct JoinedParts {
    private(set) var parts: [TakenPart] = []
    private var indices: [StreamKey: Int] = [:]
    private let limits: LogLimits
    /// The bytes that tags may still take which each log repeats: the same, whether a request has
    /// one group or many.
    private var room: Int

    init(_ limits: LogLimits, repeatedBytesMax: Int) {
        self.limits = limits
        room = repeatedBytesMax
    }

    /// All of a request that nothing filters or routes.
    init(_ groups: [LogGroup], _ limits: LogLimits, repeatedBytesMax: Int) {
        self.init(limits, repeatedBytesMax: repeatedBytesMax)
        // The usual case: one group, nothing to join.
        guard groups.count > 1 else {
            let groups = groups.span
            for index in groups.indices {
                let target = groups[index].target
                parts.append(TakenPart(groups[index], target, limits, repeatedBytesMax: room))
            }
            return
        }
        for group in groups { add(group, to: group.target) }
    }

    mutating func add(_ group: LogGroup, to target: RoutingTable.Target) {
        var part = TakenPart(group, target, limits, repeatedBytesMax: room)
        // Too many streams are no reason to refuse logs: the tags that cause them become fields.
        if parts.count >= limits.batches, indices[part.stream] == nil {
            part = TakenPart(group, target, limits, repeatedBytesMax: room, foldsAll: true)
        }
        room -= part.logs.bytes
        let stream = part.stream
        if let index = indices[stream] {
            parts[index].logs.append(part.logs)
        } else {
            indices[stream] = parts.count
            parts.append(part)
        }
    }
}

/// A device's tags, sorted by the destination's rules.
struct DeviceTags {
    static let packIDName = "__pack_id__"

    /// Tags of the stream.
    private(set) var kept: [(key: String, value: String)] = []
    /// Tags that become fields of every log.
    private(set) var folded: [(key: String, value: String)] = []
    /// Tags that do not fit into the stream.
    private(set) var crowded: [(key: String, value: String)] = []
    /// The pack id of the device's SDK. A retried request keeps it.
    private(set) var packID: String?

    /// The operator's tags take precedence, so that a device cannot claim another environment.
    ///
    /// A pack id is removed unless the destination keeps it: it would make each request a stream of
    /// its own, and the packet gets a pack id anyway.
    init(
        _ tags: [(key: String, value: String)],
        for target: RoutingTable.Target,
        _ limits: LogLimits,
        folding: Destination.Intake.FoldTags
    ) {
        var bytesLeft = limits.tagsBytes
        func keep(_ tag: (key: String, value: String)) {
            let bytes = tag.key.utf8.count + tag.value.utf8.count
            if kept.count < limits.tags, bytes <= bytesLeft {
                bytesLeft -= bytes
                kept.append(tag)
            } else {
                crowded.append(tag)
            }
        }
        for tag in tags {
            if tag.key.hasSameBytes(as: Self.packIDName) {
                packID = tag.value
                let isKept = target.intake.keepsPackID && target.intake.foldTags != .all
                if isKept { keep(tag) }
            } else if target.labels.tags.contains(where: { $0.key.hasSameBytes(as: tag.key) }) {
                continue
            } else if folding.takes(tag.key) {
                folded.append(tag)
            } else {
                keep(tag)
            }
        }
    }

    /// The logs with folded and crowded tags as fields; nil when they get too large.
    func added(to logs: DecodedLogs, atMost bytesMax: Int) -> DecodedLogs? {
        guard !folded.isEmpty || !crowded.isEmpty else { return logs }
        return logs.adding(Self.fields(folded + crowded), atMost: bytesMax)
    }

    /// Adds tags that fit neither into the stream nor into each log to the first log, unless they
    /// are very large.
    func crowdedAddedToFirst(of logs: DecodedLogs, atMost bytesMax: Int) -> DecodedLogs {
        guard !crowded.isEmpty else { return logs }
        let fields = Self.fields(crowded)
        return logs.adding(fields, toFirst: 1, atMost: logs.bytes + bytesMax) ?? logs
    }

    /// The stream's tags when crowded tags are not in every log: their names are marked as
    /// truncated.
    var keptMarkingCrowded: [(key: String, value: String)] {
        var names = NameList()
        for tag in kept where tag.key.hasSameBytes(as: NameList.tag) { names.add(tag.value.utf8) }
        for tag in crowded { names.add(tag.key.utf8) }
        return names.marking(kept)
    }

    private static func fields(
        _ tags: [(key: String, value: String)]
    ) -> [(key: String, value: String)] {
        tags.map { (FieldName.ofTag($0.key), $0.value) }
    }
}

extension Destination.Intake.FoldTags {
    fileprivate func takes(_ name: String) -> Bool {
        switch self {
        case .none: false
        case .named(let names): names.contains { $0.hasSameBytes(as: name) }
        case .all: true
        }
    }
}
