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
        _ timing: BatchTiming,
        _ rules: LogRules,
        _ form: OTLPForm,
        atMost bytesMax: Int,
        byService: Bool
    ) {
        texts.startRequest(form, atMost: bytesMax, byService: byService)
        writer.start(timing, rules)
    }

    /// Gives back the memory that a large request needed.
    mutating func shrink(to bytes: Int) {
        writer.shrink(to: bytes)
        texts.shrink(to: bytes)
    }

    mutating func request(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ProtobufError) -> [TrackedLogs] {
        var fields = ProtobufReader(bytes)
        while true {
            let start = fields.position
            guard let field = try fields.next() else { return texts.finish(&writer) }
            switch field {
            case (1, .bytes(let range)): try resourceLogs(bytes, range)
            case (1, _): throw fields.wrongType(1, of: "ExportLogsServiceRequest", at: start)
            default: continue
            }
        }
    }

    // MARK: - Resources and scopes

    private mutating func resourceLogs(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>
    ) throws(ProtobufError) {
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
    ) throws(ProtobufError) {
        let header = try Self.header(bytes, range, of: "ScopeLogs")
        try scope(bytes, header.common)
        texts.startService(&writer)
        texts.startRecords(header.count, &writer)
        var fields = ProtobufReader(bytes, in: range)
        while true {
            let start = fields.position
            guard let field = try fields.next() else { break }
            guard case (2, .bytes(let range)) = field else { continue }
            try record(bytes, range, at: start)
        }
        texts.endRecords(&writer)
    }

    /// Finds the message that the logs of a message share, and counts the parts. `ResourceLogs` and
    /// `ScopeLogs` look alike: the shared message, the parts, and the URL of a schema.
    private static func header(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        of message: StaticString
    ) throws(ProtobufError) -> (common: Range<Int>, count: Int) {
        var header = (common: range.lowerBound..<range.lowerBound, count: 0)
        var fields = ProtobufReader(bytes, in: range)
        while true {
            let start = fields.position
            guard let field = try fields.next() else { return header }
            switch field {
            case (1, .bytes(let range)): header.common = range
            case (2, .bytes): header.count += 1
            case (3, .bytes): continue
            case (1...3, _): throw fields.wrongType(field.field, of: message, at: start)
            // Only ResourceLogs had it, and nothing else ever had this number.
            case (Self.formerScopes, _): throw fields.fault(start, OTLPMistake.formerName.sentence)
            default: continue
            }
        }
    }

    /// Host and service have fields of their own; the other attributes are one JSON object.
    private mutating func resource(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>
    ) throws(ProtobufError) {
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
        try expectSize(range)
    }

    private mutating func scope(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>
    ) throws(ProtobufError) {
        texts.startScope()
        var name = 0..<0
        var version = 0..<0
        var fields = ProtobufReader(bytes, in: range)
        while true {
            let start = fields.position
            guard let field = try fields.next() else { break }
            switch field {
            case (1, .bytes(let text)): name = texts.add(bytes.text(text))
            case (2, .bytes(let text)): version = texts.add(bytes.text(text))
            case (3, .bytes), (4, .number): continue
            case (1...4, _):
                throw fields.wrongType(field.field, of: "InstrumentationScope", at: start)
            default: continue
            }
        }
        let attributes = try attributes(bytes, range, field: 3, of: "InstrumentationScope")
        texts.endScope(name: name, version: version, attributes: attributes)
        try expectSize(range)
    }

    /// Refuses a request whose texts were too large to keep: they are not there to be used.
    private func expectSize(_ range: Range<Int>) throws(ProtobufError) {
        guard texts.isTooLarge else { return }
        throw ProtobufError(
            position: range.lowerBound,
            reason: OTLPMistake.tooLarge(texts.bytesMax).sentence
        )
    }

    // MARK: - Records

    private mutating func record(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        at start: Int
    ) throws(ProtobufError) {
        var fields = ProtobufReader(bytes, in: range)
        try writer.checkRoom(at: start)
        texts.startRecord()
        var record = OTLPRecord()
        var body: Range<Int>?
        // From the first to the last one, with all that stands between them.
        var attributes: Range<Int>?
        while true {
            let start = fields.position
            guard let field = try fields.next() else { break }
            switch field {
            case (1, .fixed64(let time)): record.time = time
            case (2, .number(let number)): record.severityNumber = Int32(truncatingIfNeeded: number)
            case (3, .bytes(let text)): record.severityText = texts.add(bytes.text(text))
            case (5, .bytes(let value)): body = value
            case (6, .bytes): attributes = (attributes?.lowerBound ?? start)..<fields.position
            case (7, .number(let count)):
                record.droppedAttributes = UInt32(truncatingIfNeeded: count)
            case (8, .fixed32(let flags)): record.flags = flags
            case (9, .bytes(let id)): record.traceID = texts.add(id: bytes.text(id))
            case (10, .bytes(let id)): record.spanID = texts.add(id: bytes.text(id))
            case (11, .fixed64(let time)): record.observedTime = time
            case (12, .bytes(let text)): record.eventName = texts.add(bytes.text(text))
            case (1...3, _), (5...12, _):
                throw fields.wrongType(field.field, of: "LogRecord", at: start)
            default: continue
            }
        }
        if let attributes {
            record.attributes = try self.attributes(bytes, attributes, field: 6, of: "LogRecord")
        }
        if let body { record.body = try text(bytes, body) }
        guard texts.write(record, to: &writer) else {
            throw fields.fault(start, OTLPMistake.tooLarge(texts.bytesMax).sentence)
        }
    }
}
