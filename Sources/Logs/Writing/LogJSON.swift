/// Writes encoded logs as JSON objects, in one walk over their bytes and without a `String` for a
/// log.
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

    /// Appends the logs of `Log` entries, as the queue stores them. After an error the text is of
    /// no use.
    package mutating func append(_ entries: UnsafeRawBufferPointer) throws(ProtobufError) {
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
    ) throws(ProtobufError) {
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

extension LogTime {
    /// The time of a log, without reading its fields.
    fileprivate init(
        ofLog log: Range<Int>,
        of bytes: UnsafeRawBufferPointer
    ) throws(ProtobufError) {
        var reader = ProtobufReader(bytes, in: log)
        var seconds: UInt32?
        var nanoseconds: UInt32 = 0
        while let field = try reader.next() {
            switch field {
            case (1, .number(let number)): seconds = UInt32(truncatingIfNeeded: number)
            case (4, .fixed32(let number)): nanoseconds = number
            default: continue
            }
        }
        guard let seconds, nanoseconds < 1_000_000_000 else {
            throw reader.fault(log.lowerBound, "the log has no valid time")
        }
        self.init(seconds: seconds, nanoseconds: nanoseconds)
    }
}
