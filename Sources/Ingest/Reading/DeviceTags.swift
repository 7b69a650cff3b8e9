import Configuration
import Logs

/// A device's tags, parted by what the destination wants done with them.
struct DeviceTags {
    static let packIDName = "__pack_id__"

    /// Tags of the stream.
    private(set) var kept: [(key: String, value: String)] = []
    /// Fields of every log, because the destination wants that.
    private(set) var folded: [(key: String, value: String)] = []
    /// Those that a stream has no room for.
    private(set) var crowded: [(key: String, value: String)] = []
    /// The name that the device's SDK gave the request. A retried request keeps it.
    private(set) var packID: String?

    /// The operator's tags win, so that a device cannot claim to be another environment.
    ///
    /// A pack id that stays makes each request of a device a stream of its own. The packet that the logs
    /// end in has an id anyway, so it is gone unless the destination says otherwise.
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

    /// The logs with all that is no tag of their stream as fields; nil when that makes them too large.
    func added(to logs: DecodedLogs, atMost bytesMax: Int) -> DecodedLogs? {
        guard !folded.isEmpty || !crowded.isEmpty else { return logs }
        return logs.adding(Self.fields(folded + crowded), atMost: bytesMax)
    }

    /// What neither the stream nor each log has room for: the first log tells, unless it is very large.
    func crowdedAddedToFirst(of logs: DecodedLogs, atMost bytesMax: Int) -> DecodedLogs {
        guard !crowded.isEmpty else { return logs }
        let fields = Self.fields(crowded)
        return logs.adding(fields, toFirst: 1, atMost: logs.bytes + bytesMax) ?? logs
    }

    /// The stream's tags when the crowded ones are not in every log.
    var keptMarkingCrowded: [(key: String, value: String)] {
        var names = TruncatedNames()
        for tag in kept where tag.key.hasSameBytes(as: TruncatedNames.tag) { names.add(tag.value) }
        for tag in crowded { names.add(tag.key) }
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
