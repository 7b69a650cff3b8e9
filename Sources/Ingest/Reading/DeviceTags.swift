import Configuration
import Logs

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
