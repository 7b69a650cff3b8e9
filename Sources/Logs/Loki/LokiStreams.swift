/// The streams of one push. Those that have the same labels are one, however often the push names them.
struct LokiStreams {
    /// Labels are tags, in the order of their names as in Loki.
    private(set) var groups: [TrackedLogs] = []
    /// By the bytes of their labels, since Swift takes different texts for the same.
    private var places: [GroupTrailer: Int] = [:]

    /// Adds the logs of a stream. False when it would be one stream too many.
    mutating func add(
        _ labels: GatheredTags,
        _ logs: DecodedLogs,
        _ limits: LogLimits,
        areTimed: Bool = true
    ) -> Bool {
        guard logs.count > 0 else { return true }
        let tags = labels.tags.sorted { $0.key < $1.key }
        let name = GroupTrailer(tags: tags)
        if let place = places[name] {
            groups[place].logs.append(logs)
            if !areTimed { groups[place].areTimed = false }
            return true
        }
        guard groups.count < limits.streams else { return false }
        places[name] = groups.count
        groups.append(TrackedLogs(logs: logs, tags: tags))
        groups[groups.count - 1].areTimed = areTimed
        return true
    }
}

/// What Loki's protocol calls a log's text is a field here, and SLS's own collectors call it so.
enum LokiField {
    static let line: StaticString = "content"
    /// Metadata of that name, with the ending that Loki gives names which are taken.
    static let taken: StaticString = "content_extracted"
}
