/// The streams of one push. Those that have the same labels are one, however often the push names them.
///
/// Agents repeat a set of labels byte for byte. So labels that are written as before are recognised by their text, and are
/// taken apart once.
struct LokiStreams {
    /// Labels are tags, in the order of their names' bytes as in Loki.
    private(set) var groups: [TrackedLogs] = []
    /// By the bytes of their labels.
    private var places: [GroupTrailer: Int] = [:]
    /// Labels as they were written, and where their logs are. They stand in the body.
    private var texts: [(text: UnsafeBufferPointer<UInt8>, place: Int)] = []
    private var index = ByteIndex()
    /// How many labels all groups have together.
    private var labelCount = 0

    /// Where the logs of labels are that were written the same way before.
    func place(of text: UnsafeBufferPointer<UInt8>) -> Int? {
        index.number(ByteIndex.hash(text)) { texts[$0].text.hasSameBytes(as: text) }
            .map { texts[$0].place }
    }

    /// The place for logs with these labels, which stand in the body as `text`.
    mutating func place(
        of labels: inout GatheredTags,
        writtenAs text: UnsafeBufferPointer<UInt8>,
        _ limits: LogLimits
    ) throws(LokiMistake) -> Int {
        labels.sort()
        let trailer = labels.trailer
        let place: Int
        if let known = places[trailer] {
            place = known
        } else {
            guard groups.count < limits.streams else { throw .tooManyStreams(limits.streams) }
            labelCount += labels.count
            guard labelCount <= limits.labels else { throw .tooManyLabels(limits.labels) }
            place = groups.count
            places[trailer] = place
            groups.append(TrackedLogs(tags: labels.tags))
        }
        // Beyond that a client writes the same labels in ever new ways, and each has to be taken apart.
        if texts.count < limits.streams {
            index.insert(ByteIndex.hash(text), texts.count)
            texts.append((text, place))
        }
        return place
    }

    mutating func append(_ logs: DecodedLogs, at place: Int, areTimed: Bool = true) {
        groups[place].logs.append(logs)
        if !areTimed { groups[place].areTimed = false }
    }
}

/// What Loki's protocol calls a log's text is a field here, and SLS's own collectors call it so.
enum LokiField {
    static let line: StaticString = "content"
    /// Metadata of that name, with the ending that Loki gives names which are taken.
    static let taken: StaticString = "content_extracted"
}
