/// Writes the logs of a request, in one pass over it.
///
/// Protobuf does not define the order of fields, and a resource behind its logs is still theirs. So
/// the fields of each message are looked at twice, the inner messages only for their lengths, which
/// costs next to nothing.
struct OTLPProtobufReader: ~Copyable {
    /// `instrumentation_library_logs`, as scopes were called before OTLP 0.15. Skipping it as an
    /// unknown field would lose all logs of its sender silently.
    private static let formerScopes = 1000
    private static let hostName = Array("host.name".utf8)
    private static let serviceName = Array("service.name".utf8)

    let limits: LogLimits
    private var writer: LogWriter
    var texts = OTLPTexts()

    init(limits: LogLimits) {
        self.limits = limits
        writer = LogWriter(limits: limits)
    }

    mutating func start(
        _ body: LogBody,
        _ form: OTLPForm,
        atMost bytesMax: Int,
        byService: Bool
    ) {
        texts.startRequest(form, atMost: bytesMax, byService: byService)
        writer.start(body.timing, body.rules)
    }

    mutating func shrink() {
        writer.shrink()
        texts.shrink()
    }

    mutating func request(
        _ bytes: UnsafeRawBufferPointer
    ) throws(LogDecodingError) -> [TrackedLogs] {
        var fields = ProtobufReader(bytes)
        while let field = try fields.next() {
            switch field {
            case (1, .bytes(let range)): try resourceLogs(bytes, range)
            case (1, _): throw fields.wrongType(1, of: "ExportLogsServiceRequest")
            default: continue
            }
        }
        return texts.finish(&writer)
    }

    // MARK: - Resources and scopes

    private mutating func resourceLogs(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>
    ) throws(LogDecodingError) {
        try resource(bytes, Self.header(bytes, range, of: "ResourceLogs").common)
        var fields = ProtobufReader(bytes, in: range)
        while let field = try fields.next() {
            guard case (2, .bytes(let range)) = field else { continue }
            try scopeLogs(bytes, range)
        }
    }

    private mutating func scopeLogs(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>
    ) throws(LogDecodingError) {
        let header = try Self.header(bytes, range, of: "ScopeLogs")
        try scope(bytes, header.common)
        texts.startService(&writer)
        texts.startRecords(header.count, &writer)
        var fields = ProtobufReader(bytes, in: range)
        while let field = try fields.next() {
            guard case (2, .bytes(let range)) = field else { continue }
            try record(bytes, range, at: fields.start)
        }
        texts.endRecords(&writer)
    }

    /// Finds the message that the logs of a message share, and counts the parts. `ResourceLogs` and
    /// `ScopeLogs` look alike: the shared message, the parts, and the URL of a schema.
    private static func header(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        of message: StaticString
    ) throws(LogDecodingError) -> (common: Range<Int>, count: Int) {
        var header = (common: range.lowerBound..<range.lowerBound, count: 0)
        var fields = ProtobufReader(bytes, in: range)
        while let field = try fields.next() {
            switch field {
            case (1, .bytes(let range)): header.common = range
            case (2, .bytes): header.count += 1
            case (3, .bytes): continue
            case (1...3, _): throw fields.wrongType(field.field, of: message)
            // Only ResourceLogs had it, and nothing else ever had this number.
            case (Self.formerScopes, _): throw fields.fault(OTLPMistake.formerName.sentence)
            default: continue
            }
        }
        return header
    }

    /// Host and service have fields of their own; the other attributes are one JSON object.
    private mutating func resource(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>
    ) throws(LogDecodingError) {
        texts.startResource()
        var host = 0..<0
        var service = 0..<0
        let attributes = try attributes(bytes, range, field: 1, of: "Resource") { pair in
            let name = bytes.text(pair.key)
            if name.elementsEqual(Self.hostName) {
                host = pair.value
            } else if name.elementsEqual(Self.serviceName) {
                service = pair.value
            } else {
                return true
            }
            return false
        }
        // A missing value is an empty one.
        let hostText = try text(bytes, host)
        let serviceText = try text(bytes, service)
        texts.endResource(attributes: attributes, host: hostText, service: serviceText)
        try expectSize(at: range.lowerBound)
    }

    private mutating func scope(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>
    ) throws(LogDecodingError) {
        texts.startScope()
        var name = 0..<0
        var version = 0..<0
        var fields = ProtobufReader(bytes, in: range)
        while let field = try fields.next() {
            switch field {
            case (1, .bytes(let text)): name = texts.add(bytes.text(text))
            case (2, .bytes(let text)): version = texts.add(bytes.text(text))
            case (3, .bytes), (4, .number): continue
            case (1...4, _):
                throw fields.wrongType(field.field, of: "InstrumentationScope")
            default: continue
            }
        }
        let attributes = try attributes(bytes, range, field: 3, of: "InstrumentationScope")
        texts.endScope(name: name, version: version, attributes: attributes)
        try expectSize(at: range.lowerBound)
    }

    /// Refuses a request whose texts were too large to keep: they are not there to be used.
    private func expectSize(at position: Int) throws(LogDecodingError) {
        guard texts.isTooLarge else { return }
        throw OTLPMistake.tooLarge(texts.bytesMax).at(position).moved(by: 0)
    }

    // MARK: - Records

    private mutating func record(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        at start: Int
    ) throws(LogDecodingError) {
        var fields = ProtobufReader(bytes, in: range)
        try writer.checkRoom(at: start)
        texts.startRecord()
        var record = OTLPRecord()
        var body: Range<Int>?
        // From the first to the last one, with all that stands between them.
        var attributes: Range<Int>?
        while let field = try fields.next() {
            switch field {
            case (1, .fixed64(let time)): record.time = time
            case (2, .number(let number)): record.severityNumber = Int32(truncatingIfNeeded: number)
            case (3, .bytes(let text)): record.severityText = texts.add(bytes.text(text))
            case (5, .bytes(let value)): body = value
            case (6, .bytes):
                attributes = (attributes?.lowerBound ?? fields.start)..<fields.position
            case (7, .number(let count)):
                record.droppedAttributes = UInt32(truncatingIfNeeded: count)
            case (8, .fixed32(let flags)): record.flags = flags
            case (9, .bytes(let id)): record.traceID = texts.add(id: bytes.text(id))
            case (10, .bytes(let id)): record.spanID = texts.add(id: bytes.text(id))
            case (11, .fixed64(let time)): record.observedTime = time
            case (12, .bytes(let text)): record.eventName = texts.add(bytes.text(text))
            case (1...3, _), (5...12, _):
                throw fields.wrongType(field.field, of: "LogRecord")
            default: continue
            }
        }
        if let attributes {
            record.attributes = try self.attributes(bytes, attributes, field: 6, of: "LogRecord")
        }
        if let body { record.body = try text(bytes, body) }
        if !texts.write(record, to: &writer) { try expectSize(at: start) }
    }
}

/// The kind of an `AnyValue`, and where its content stands in the bytes.
private enum OTLPValue {
    case empty
    case string(Range<Int>)
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case array(Range<Int>)
    case pairs(Range<Int>)
    case bytes(Range<Int>)

    init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(LogDecodingError) {
        self = .empty
        var fields = ProtobufReader(bytes, in: range)
        while let field = try fields.next() {
            switch field {
            case (1, .bytes(let text)): self = .string(text)
            case (2, .number(let number)): self = .boolean(number != 0)
            case (3, .number(let number)): self = .integer(Int64(bitPattern: number))
            case (4, .fixed64(let bits)): self = .double(Double(bitPattern: bits))
            case (5, .bytes(let values)): self = .array(values)
            case (6, .bytes(let pairs)): self = .pairs(pairs)
            case (7, .bytes(let bytes)): self = .bytes(bytes)
            case (1...7, _): throw fields.wrongType(field.field, of: "AnyValue")
            default: continue
            }
        }
    }
}

extension OTLPProtobufReader {
    /// The JSON object of the attributes that are one field of a message; nil when there are none.
    mutating func attributes(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        field number: Int,
        of message: StaticString,
        where isIncluded: (TextPair) -> Bool = { _ in true }
    ) throws(LogDecodingError) -> Range<Int>? {
        let first = texts.memory.count
        var fields = ProtobufReader(bytes, in: range)
        while let field = try fields.next() {
            guard field.field == number else { continue }
            guard case .bytes(let range) = field.value else {
                throw fields.wrongType(number, of: message)
            }
            let pair = try TextPair(bytes, range, of: "KeyValue")
            guard isIncluded(pair) else { continue }
            texts.memory.append(texts.memory.count == first ? "{" : ",")
            try member(bytes, pair, depth: 1)
        }
        guard texts.memory.count > first else { return nil }
        texts.memory.append("}")
        return first..<texts.memory.count
    }

    /// An `AnyValue` as a field shows it: text as it is, bytes in base64, everything else as JSON.
    mutating func text(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>
    ) throws(LogDecodingError) -> Range<Int> {
        let start = texts.memory.count
        switch try OTLPValue(bytes, range) {
        case .empty: break
        case .string(let text): texts.memory.append(bytes.text(text))
        case .bytes(let content): texts.memory.append(base64: bytes.text(content))
        case .double(let number): texts.memory.append(number)
        case let value: try json(bytes, value, range, depth: 1)
        }
        return start..<texts.memory.count
    }

    /// Name and value of a JSON object.
    private mutating func member(
        _ bytes: UnsafeRawBufferPointer,
        _ pair: TextPair,
        depth: Int
    ) throws(LogDecodingError) {
        texts.memory.append(name: bytes.text(pair.key))
        try json(bytes, OTLPValue(bytes, pair.value), pair.value, depth: depth)
    }

    private mutating func json(
        _ bytes: UnsafeRawBufferPointer,
        _ value: OTLPValue,
        _ range: Range<Int>,
        depth: Int
    ) throws(LogDecodingError) {
        let deepest = min(limits.depth, 64)
        guard depth <= deepest else {
            throw LogDecodingError(
                position: range.lowerBound,
                reason: "values are nested deeper than \(deepest)"
            )
        }
        switch value {
        case .empty: texts.memory.append("null")
        case .string(let text): texts.memory.append(quoted: bytes.text(text))
        case .boolean(let isTrue): texts.memory.append(isTrue ? "true" : "false")
        case .integer(let number): texts.memory.append(decimal: number)
        case .double(let number): texts.memory.append(json: number)
        case .bytes(let content):
            texts.memory.append("\"")
            texts.memory.append(base64: bytes.text(content))
            texts.memory.append("\"")
        case .array(let values):
            texts.memory.append("[")
            try elements(bytes, values, of: "ArrayValue", depth: depth + 1)
            texts.memory.append("]")
        case .pairs(let pairs):
            texts.memory.append("{")
            try elements(bytes, pairs, of: "KeyValueList", arePairs: true, depth: depth + 1)
            texts.memory.append("}")
        }
    }

    /// The parts of an array or an object, which both are field 1, with commas between them.
    private mutating func elements(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        of message: StaticString,
        arePairs: Bool = false,
        depth: Int
    ) throws(LogDecodingError) {
        var isFirst = true
        var fields = ProtobufReader(bytes, in: range)
        while let field = try fields.next() {
            switch field {
            case (1, .bytes(let part)):
                if !isFirst { texts.memory.append(",") }
                isFirst = false
                if arePairs {
                    try member(bytes, TextPair(bytes, part, of: "KeyValue"), depth: depth)
                } else {
                    try json(bytes, OTLPValue(bytes, part), part, depth: depth)
                }
            case (1, _): throw fields.wrongType(1, of: message)
            default: continue
            }
        }
    }
}
