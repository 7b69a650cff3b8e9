import System

/// Parses a stream's labels as Loki writes them in protobuf: `{app="shop", env="prod"}`. Names are
/// identifiers, or quoted; values are quoted with `"` or `'` and have Go's escapes, or stand
/// between backquotes as they are.
struct LokiLabelText {
    private let text: UnsafeBufferPointer<UInt8>
    private(set) var position = 0
    private var isFirst = true

    struct Mistake: Error {
        let reason: StaticString
    }

    init(_ text: UnsafeBufferPointer<UInt8>) {
        self.text = text
    }

    /// The next label; false behind the last one.
    mutating func next(name: inout [UInt8], value: inout [UInt8]) throws(Mistake) -> Bool {
        if isFirst {
            try expect("{", else: "labels begin with a brace, as in {app=\"shop\"}")
        } else if !take("}") {
            try expect(",", else: "a comma or a closing brace is expected behind a label")
        } else {
            return try end()
        }
        isFirst = false
        // Also behind a comma, as in Go.
        if take("}") { return try end() }
        if isQuote {
            try quoted(&name)
        } else {
            try identifier(&name)
        }
        try expect("=", else: "an equals sign is expected behind a label's name")
        skipBlanks()
        guard isQuote else { throw Mistake(reason: "a label's value must be quoted") }
        try quoted(&value)
        return true
    }

    private mutating func end() throws(Mistake) -> Bool {
        skipBlanks()
        guard position == text.count else { throw Mistake(reason: "nothing may follow the labels") }
        return false
    }

    private mutating func identifier(_ name: inout [UInt8]) throws(Mistake) {
        name.removeAll(keepingCapacity: true)
        while position < text.count, isOfName(text[position], isFirst: name.isEmpty) {
            name.append(text[position])
            position += 1
        }
        guard !name.isEmpty else {
            throw Mistake(reason: "a label's name has letters, digits and _, or is quoted")
        }
    }

    private func isOfName(_ byte: UInt8, isFirst: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "_"):
            true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): !isFirst
        default: false
        }
    }

    private var isQuote: Bool {
        guard position < text.count else { return false }
        let byte = text[position]
        return byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "`")
    }

    private mutating func quoted(_ content: inout [UInt8]) throws(Mistake) {
        content.removeAll(keepingCapacity: true)
        let quote = text[position]
        position += 1
        while position < text.count {
            let byte = text[position]
            position += 1
            switch byte {
            case quote: return
            case UInt8(ascii: "\\") where quote != UInt8(ascii: "`"):
                try escape(in: quote, to: &content)
            case UInt8(ascii: "\n") where quote != UInt8(ascii: "`"):
                throw Mistake(reason: "a line feed in a label must be escaped")
            default: content.append(byte)
            }
        }
        throw Mistake(reason: "a quoted text in the labels is never closed")
    }

    /// The Go Programming Language Specification, rune literals.
    private mutating func escape(
        in quote: UInt8,
        to content: inout [UInt8]
    ) throws(Mistake) {
        guard position < text.count else { throw Self.badEscape }
        let letter = text[position]
        position += 1
        switch letter {
        case UInt8(ascii: "a"): content.append(0x07)
        case UInt8(ascii: "b"): content.append(0x08)
        case UInt8(ascii: "f"): content.append(0x0C)
        case UInt8(ascii: "n"): content.append(0x0A)
        case UInt8(ascii: "r"): content.append(0x0D)
        case UInt8(ascii: "t"): content.append(0x09)
        case UInt8(ascii: "v"): content.append(0x0B)
        case UInt8(ascii: "\\"), quote: content.append(letter)
        case UInt8(ascii: "x"): content.append(UInt8(try number(digits: 2, base: 16)))
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            position -= 1
            guard let byte = UInt8(exactly: try number(digits: 3, base: 8)) else {
                throw Self.badEscape
            }
            content.append(byte)
        case UInt8(ascii: "u"): try append(scalar: number(digits: 4, base: 16), to: &content)
        case UInt8(ascii: "U"): try append(scalar: number(digits: 8, base: 16), to: &content)
        default: throw Self.badEscape
        }
    }

    private func append(scalar: UInt32, to content: inout [UInt8]) throws(Mistake) {
        guard scalar <= 0x10FFFF else { throw Self.badEscape }
        // Half of a surrogate pair, which Go lets through too.
        let scalar = Unicode.Scalar(scalar) ?? "\u{FFFD}"
        content.append(contentsOf: Array(String(Character(scalar)).utf8))
    }

    private mutating func number(digits: Int, base: UInt32) throws(Mistake) -> UInt32 {
        var number: UInt32 = 0
        for _ in 0..<digits {
            guard position < text.count, let digit = hexValue(text[position]), digit < base
            else { throw Self.badEscape }
            number = number &* base &+ UInt32(digit)
            position += 1
        }
        return number
    }

    private static let badEscape = Mistake(
        reason: "the labels have an escape that Go does not know"
    )

    /// Takes a character, with the blanks around it.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipBlanks()
        guard position < text.count, text[position] == UInt8(ascii: character) else { return false }
        position += 1
        skipBlanks()
        return true
    }

    private mutating func expect(
        _ character: Unicode.Scalar,
        else reason: StaticString
    ) throws(Mistake) {
        guard take(character) else { throw Mistake(reason: reason) }
    }

    private mutating func skipBlanks() {
        while position < text.count,
            text[position] == 0x20 || text[position] == 0x09 || text[position] == 0x0A
                || text[position] == 0x0D
        {
            position += 1
        }
    }
}

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
