import Logs

/// A device's tags, parted by what the destination wants done with them.
struct DeviceTags {
    static let packIDName = "__pack_id__"

    /// Tags of the stream.
    private(set) var kept: [(key: String, value: String)] = []
    /// Fields of every log.
    private(set) var folded: [(key: String, value: String)] = []
    /// The name that the device's SDK gave the request. A retried request keeps it.
    private(set) var packID: String?

    /// The operator's tags win, so that a device cannot claim to be another environment.
    ///
    /// A pack id that stays makes each request of a device a stream of its own. The packet that the logs
    /// end in has an id anyway, so it is gone unless the destination says otherwise.
    init(
        _ tags: [(key: String, value: String)],
        for target: RoutingTable.Target,
        folding: Destination.Intake.FoldTags
    ) {
        for tag in tags {
            if tag.key == Self.packIDName {
                packID = tag.value
                let isKept = target.intake.keepsPackID && target.intake.foldTags != .all
                if isKept { kept.append(tag) }
            } else if target.labels.tags.contains(where: { $0.key == tag.key }) {
                continue
            } else if folding.takes(tag.key) {
                folded.append((FieldName.ofTag(tag.key), tag.value))
            } else {
                kept.append(tag)
            }
        }
    }
}

extension Destination.Intake.FoldTags {
    fileprivate func takes(_ name: String) -> Bool {
        switch self {
        case .none: false
        case .named(let names): names.contains(name)
        case .all: true
        }
    }
}
