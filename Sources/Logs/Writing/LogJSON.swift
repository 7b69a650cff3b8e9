import Glibc
import System

/// Writes encoded logs as JSON objects in one walk over their bytes, without a `String` a log.
package struct LogJSON: ~Copyable {
    package enum Shape: Sendable {
        /// The fields, and with them `date` and `tag`. A field whose own name is one of these, or
        /// one of these behind any number of `field_`, gets another `field_`, so that two names
        /// never become one.
        case flat
        /// `time`, `tag`, `topic`, `source`, `tags` and `fields`.
        case nested
    }

    package enum Framing: Sendable {
        /// One array of all logs.
        case array
        /// A log a line, each with its newline (NDJSON).
        case lines
    }

    private let shape: Shape
    private let framing: Framing
    /// All that stands between the time and the fields, alike in each log.
    private let shared: [UInt8]
    private var output = LogOutput()
    private var clock = RFC3339Clock()
    package private(set) var count = 0
    private let bytesMax: Int
    /// The text became longer than it may. Logs are left out then.
    package private(set) var isTooLarge = false

    /// The stream's topic is the tag. `tags` are added to those of the stream, which come first;
    /// the flat shape has neither. Topic, source and tags stand in each log, so that a packet of
    /// many small logs may become a thousand times as long: `bytesMax` ends it.
    package init(
        _ shape: Shape,
        _ framing: Framing,
        of trailer: GroupTrailer,
        tags: [(key: String, value: String)] = [],
        bytesMax: Int = .max
    ) {
        self.shape = shape
        self.bytesMax = bytesMax
        self.framing = framing
        shared = Self.shared(shape, trailer, tags)
        if framing == .array { output.append("[") }
    }

    /// Appends the logs of `Log` entries, as the queue stores them. After an error it is of no use.
    package mutating func append(_ entries: UnsafeRawBufferPointer) throws(LogDecodingError) {
        var reader = ProtobufReader(entries)
        while let field = try reader.next() {
            guard case (1, .bytes(let log)) = field else {
                throw reader.fault(reader.position, "no log entry starts here")
            }
            guard output.length <= bytesMax else {
                isTooLarge = true
                return
            }
            try append(log: log, of: entries)
        }
        isTooLarge = isTooLarge || output.length > bytesMax
    }

    /// The text so far. An array is complete then.
    package consuming func finish() -> [UInt8] {
        if framing == .array { output.append("]") }
        return [UInt8](copying: output.start, count: output.length)
    }

    private mutating func append(
        log: Range<Int>,
        of bytes: UnsafeRawBufferPointer
    ) throws(LogDecodingError) {
        let time = try LogTime(ofLog: log, of: bytes)
        if framing == .array, count > 0 { output.append(",") }
        count += 1
        output.append(shape == .flat ? "{\"date\":\"" : "{\"time\":\"")
        clock.write(time, to: &output)
        output.append("\"")
        output.append(shared)
        var needsComma = shape == .flat
        var reader = ProtobufReader(bytes, in: log)
        while let field = try reader.next() {
            guard case (2, .bytes(let range)) = field else { continue }
            let pair = try TextPair(bytes, range, of: "Content")
            output.append(needsComma ? ",\"" : "\"")
            needsComma = true
            let name = bytes.text(pair.key)
            if shape == .flat, Self.isTaken(name) { output.append("field_") }
            output.append(escaping: name)
            output.append("\":\"")
            output.append(escaping: bytes.text(pair.value))
            output.append("\"")
        }
        output.append(shape == .flat ? "}" : "}}")
        if framing == .lines { output.append("\n") }
    }

    private static func isTaken(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        // Nearly every name is told apart by its last letter.
        guard let last = name.last, last == UInt8(ascii: "e") || last == UInt8(ascii: "g") else {
            return false
        }
        let prefix = Array("field_".utf8)
        var rest = name[...]
        while rest.starts(with: prefix) { rest = rest.dropFirst(prefix.count) }
        return rest.elementsEqual("date".utf8) || rest.elementsEqual("tag".utf8)
    }

    private static func shared(
        _ shape: Shape,
        _ trailer: GroupTrailer,
        _ added: [(key: String, value: String)]
    ) -> [UInt8] {
        var output = LogOutput()
        func member(_ name: String, _ value: String) {
            output.append(",\"")
            output.append(escaping: name)
            output.append("\":\"")
            output.append(escaping: value)
            output.append("\"")
        }
        member("tag", trailer.topic)
        if shape == .nested {
            member("topic", trailer.topic)
            member("source", trailer.source)
            output.append(",\"tags\":{")
            let own = trailer.tags
            let names = Set(own.map { ByteText($0.key) })
            var needsComma = false
            for (key, value) in own + added.filter({ !names.contains(ByteText($0.key)) }) {
                output.append(needsComma ? ",\"" : "\"")
                needsComma = true
                output.append(escaping: key)
                output.append("\":\"")
                output.append(escaping: value)
                output.append("\"")
            }
            output.append("},\"fields\":{")
        }
        return [UInt8](copying: output.start, count: output.length)
    }
}

// Pieces of JSON, appended to the output.
extension LogOutput {
    @inline(__always)
    mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always)
    mutating func append(_ text: [UInt8]) {
        text.withUnsafeBufferPointer { append($0) }
    }

    @inline(__always)
    mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        guard let source = text.baseAddress, !text.isEmpty else { return }
        makeRoom(forBytes: text.count)
        memcpy(end, source, text.count)
        length += text.count
    }

    mutating func append(escaping text: String) {
        var text = text
        text.withUTF8 { append(escaping: $0) }
    }

    /// The inside of a JSON string. What is not UTF-8 becomes U+FFFD.
    mutating func append(escaping text: UnsafeBufferPointer<UInt8>) {
        guard text.isUTF8 else { return append(repairing: text) }
        var plain = 0
        for index in text.indices where text[index].needsJSONEscape {
            append(UnsafeBufferPointer(rebasing: text[plain..<index]))
            append(escape: text[index])
            plain = index + 1
        }
        append(UnsafeBufferPointer(rebasing: text[plain...]))
    }

    private mutating func append(repairing text: UnsafeBufferPointer<UInt8>) {
        let repaired = [UInt8](scratch: text.count * UTF8Sequence.growth) {
            UTF8Sequence.repair(text, to: $0)
        }
        repaired.withUnsafeBufferPointer { append(escaping: $0) }
    }

    private mutating func append(escape byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case UInt8(ascii: "\n"): append("\\n")
        case UInt8(ascii: "\r"): append("\\r")
        case UInt8(ascii: "\t"): append("\\t")
        default:
            append(byte < 0x10 ? "\\u000" : "\\u001")
            append(byte: .hexDigit(byte & 15))
        }
    }

    private mutating func append(byte: UInt8) {
        makeRoom(forBytes: 1)
        end.pointee = byte
        length += 1
    }
}

/// Writes times as "2025-01-14T08:30:00.123Z", and remembers the text of the second before: most
/// logs share theirs with their neighbours.
struct RFC3339Clock {
    private var second: UInt32?
    /// "2025-01-14T08:30:00"
    private var text: [UInt8] = []

    /// A part below the second is written with three, six or nine digits.
    mutating func write(_ time: LogTime, to output: inout LogOutput) {
        if second != time.seconds {
            text = Self.text(time.seconds)
            second = time.seconds
        }
        output.append(text)
        if time.nanoseconds > 0 {
            output.append(".")
            let (number, digits) =
                switch time.nanoseconds {
                case let part where part % 1_000_000 == 0: (part / 1_000_000, 3)
                case let part where part % 1000 == 0: (part / 1000, 6)
                case let part: (part, 9)
                }
            var fraction: [UInt8] = []
            Self.append(Int(number), digits, to: &fraction)
            output.append(fraction)
        }
        output.append("Z")
    }

    private static func text(_ seconds: UInt32) -> [UInt8] {
        let parts = WallTime(seconds: Int64(seconds)).calendar
        var text: [UInt8] = []
        text.reserveCapacity(19)
        append(Int(parts.tm_year) + 1900, 4, to: &text)
        for (separator, number) in [
            ("-", parts.tm_mon + 1), ("-", parts.tm_mday), ("T", parts.tm_hour),
            (":", parts.tm_min), (":", parts.tm_sec),
        ] as [(Unicode.Scalar, CInt)] {
            text.append(UInt8(ascii: separator))
            append(Int(number), 2, to: &text)
        }
        return text
    }

    private static func append(_ number: Int, _ digits: Int, to text: inout [UInt8]) {
        var scale = 1
        for _ in 1..<digits { scale *= 10 }
        while scale > 0 {
            text.append(UInt8(ascii: "0") + UInt8(number / scale % 10))
            scale /= 10
        }
    }
}
