/// The one pass over a request that writes its logs.
///
/// Protobuf does not say in which order fields come, and a resource behind its logs is still theirs. So
/// the fields of each message are looked at twice, the lengths of the inner messages only, which costs
/// next to nothing.
struct OTLPWalk: ~Copyable {
    /// `instrumentation_library_logs`, as scopes were called before OTLP 0.15. Skipped as an unknown field, all
    /// logs of its sender would be gone without a word.
    private static let formerScopes = 1000

    let limits: LogLimits
    var writer: LogWriter
    var texts = OTLPTexts()

    init(limits: LogLimits) {
        self.limits = limits
        writer = LogWriter(limits: limits)
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

    /// Where it stands what the logs of a message have in common, and how many parts there are. `ResourceLogs` and `ScopeLogs` look alike: that, what is
    /// in them, and the URL of a schema.
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
            // Of ResourceLogs; nothing else ever had this number.
            case (Self.formerScopes, _): throw fields.fault(start, OTLPMistake.formerName.sentence)
            default: continue
            }
        }
    }
}
