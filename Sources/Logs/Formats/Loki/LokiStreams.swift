/// The streams of one push. Streams with the same labels are one, however often the push names
/// them.
///
/// Agents repeat a set of labels byte for byte. So repeated labels are recognised by their text,
/// and are parsed once.
struct LokiStreams {
    /// Labels are tags, in the order of their names' bytes as in Loki.
    private(set) var groups: [TrackedLogs] = []
    /// By the bytes of their labels.
    private var numbers: [GroupTrailer: Int] = [:]
    /// Labels as they stand in the body, and where their logs are.
    private var texts: [(text: UnsafeBufferPointer<UInt8>, index: Int)] = []
    private var byText = ByteIndex()
    /// How many labels all groups have together.
    private var labelCount = 0

    /// Where the logs are of labels that were written the same way before.
    func index(of text: UnsafeBufferPointer<UInt8>) -> Int? {
        byText.number(ByteIndex.hash(text)) { texts[$0].text.hasSameBytes(as: text) }
            .map { texts[$0].index }
    }

    /// The index of the group of logs with these labels, which stand in the body as `text`.
    mutating func index(
        of labels: inout GatheredTags,
        writtenAs text: UnsafeBufferPointer<UInt8>,
        _ limits: LogLimits
    ) throws(LokiMistake) -> Int {
        labels.sort()
        let trailer = labels.trailer
        let index: Int
        if let known = numbers[trailer] {
            index = known
        } else {
            guard groups.count < limits.streams else { throw .tooManyStreams(limits.streams) }
            labelCount += labels.count
            guard labelCount <= limits.labels else { throw .tooManyLabels(limits.labels) }
            index = groups.count
            numbers[trailer] = index
            groups.append(TrackedLogs(tags: labels.tags))
        }
        // A client beyond that writes the same labels in ever new ways, and each has to be parsed.
        if texts.count < limits.streams {
            byText.insert(ByteIndex.hash(text), texts.count)
            texts.append((text, index))
        }
        return index
    }

    mutating func append(_ logs: DecodedLogs, at index: Int, areTimed: Bool = true) {
        groups[index].logs.append(logs)
        if !areTimed { groups[index].areTimed = false }
    }
}

/// The fields of an entry. SLS's own collectors call a log's text `content`, too.
enum LokiField {
    static let line: StaticString = "content"
    /// Metadata called `content`, with the ending that Loki gives to taken names.
    static let taken: StaticString = "content_extracted"
}

/// Why a push is not Loki's.
enum LokiMistake: FormatMistake, Error {
    case streamsMissing, valuesMissing, formerName
    case entryExpected, timeExpected, labelExpected
    case tooManyStreams(Int), tooManyLabels(Int)

    var concernsRequest: Bool {
        switch self {
        case .tooManyStreams, .tooManyLabels: true
        default: false
        }
    }

    var sentence: String {
        switch self {
        case .streamsMissing: "the object has no streams"
        case .valuesMissing: "the stream has no values"
        case .formerName:
            "labels and entries are what Loki had before stream and values, and are not read"
        case .entryExpected:
            "an entry is an array: its time in nanoseconds as text, its line, and perhaps an object"
        case .timeExpected: "an entry's time is text: nanoseconds since 1970 that fit 64 bits"
        case .labelExpected: "a label's value must be text"
        case .tooManyStreams(let limit):
            "the request has more than \(limit) streams with different labels (limits.label_sets); send smaller batches"
        case .tooManyLabels(let limit):
            "the streams with different labels have more than \(limit) labels together (limits.labels); send smaller batches"
        }
    }
}
