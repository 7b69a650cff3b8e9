/// Writes the logs of a LogGroup, in one pass over it.
struct PutLogsReader: ~Copyable {
    let limits: LogLimits
    var writer: LogWriter

    init(limits: LogLimits) {
        self.limits = limits
        writer = LogWriter(limits: limits)
    }

    mutating func group(_ bytes: UnsafeRawBufferPointer) throws(ProtobufError) -> TrackedLogs {
        var tracked = TrackedLogs()
        var tags = GatheredTags()
        var fields = ProtobufReader(bytes)
        while true {
            let start = fields.position
            guard let field = try fields.next() else { break }
            switch field {
            case (1, .bytes(let range)):
                try writer.checkRoom(at: start)
                if !writer.copy(log: UnsafeRawBufferPointer(rebasing: bytes[range])) {
                    try log(bytes, range, at: start)
                }
            // Category and MachineUUID.
            case (2, .bytes), (5, .bytes): continue
            case (3, .bytes(let range)):
                let topic = fields.text(in: range)
                guard topic.utf8.count <= limits.topicBytes else {
                    throw fields.fault(start, "Topic must not exceed \(limits.topicBytes) bytes")
                }
                tracked.topic = topic
            case (4, .bytes(let range)):
                let source = fields.text(in: range)
                guard source.utf8.count <= limits.sourceBytes else {
                    throw fields.fault(start, "Source must not exceed \(limits.sourceBytes) bytes")
                }
                tracked.source = source
            case (6, .bytes(let range)):
                let tag = try TextPair(bytes, range, of: "LogTag")
                tags.addUnchecked(bytes.text(tag.key), bytes.text(tag.value), limits)
            case (1...6, _): throw fields.wrongType(field.field, of: "LogGroup", at: start)
            default: continue
            }
        }
        tracked.tags = tags.tags
        tracked.logs = writer.logs
        return tracked
    }

    /// A log that cannot be copied.
    @inline(never)
    private mutating func log(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        at start: Int
    ) throws(ProtobufError) {
        var seconds: UInt64?
        var nanoseconds: UInt32 = 0
        var fields = ProtobufReader(bytes, in: range)
        writer.startLog()
        while true {
            let start = fields.position
            guard let field = try fields.next() else { break }
            switch field {
            case (1, .number(let number)): seconds = number
            case (2, .bytes(let range)):
                let content = try TextPair(bytes, range, of: "Content")
                writer.uncheckedField(
                    name: bytes.text(content.key),
                    value: bytes.text(content.value)
                )
            case (4, .fixed32(let number)): nanoseconds = number
            case (1, _), (2, _), (4, _): throw fields.wrongType(field.field, of: "Log", at: start)
            default: continue
            }
        }
        if let seconds {
            writer.time(
                seconds: seconds,
                nanoseconds: nanoseconds < 1_000_000_000 ? nanoseconds : 0
            )
        }
        try writer.endLog(at: start)
    }
}
