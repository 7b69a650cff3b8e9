/// One log read back for people: dead letters, the live tail, tests.
package struct LogEntry: Sendable {
    package let time: LogTime
    package let fields: [(key: String, value: String)]

    package init(time: LogTime, fields: [(key: String, value: String)]) {
        self.time = time
        self.fields = fields
    }

    /// Reads one entry as `LogEntries` found it, tag and length included.
    package init(_ entry: UnsafeRawBufferPointer) throws(ProtobufError) {
        var outer = ProtobufReader(entry)
        guard case (1, .bytes(let range))? = try outer.next() else {
            throw outer.fault(0, "no log entry starts here")
        }
        var log = ProtobufReader(entry, in: range)
        var seconds: UInt32?
        var nanoseconds: UInt32 = 0
        var fields: [(key: String, value: String)] = []
        while let field = try log.next() {
            switch field {
            case (1, .number(let value)): seconds = UInt32(truncatingIfNeeded: value)
            case (2, .bytes(let range)): fields.append(try log.pair(in: range))
            case (4, .fixed32(let value)): nanoseconds = value
            default: continue
            }
        }
        guard let seconds, nanoseconds < 1_000_000_000 else {
            throw log.fault(0, "the log has no valid time")
        }
        time = LogTime(seconds: seconds, nanoseconds: nanoseconds)
        self.fields = fields
    }
}

extension LogTime {
    /// The time of an encoded entry, tag and length included, without reading its fields; nil when
    /// the entry has none.
    package init?(ofEntry entry: UnsafeRawBufferPointer) {
        var outer = ProtobufReader(entry)
        guard case (1, .bytes(let range))? = try? outer.next() else { return nil }
        var log = ProtobufReader(entry, in: range)
        while let field = try? log.next() {
            guard case (1, .number(let seconds)) = field else { continue }
            guard let seconds = UInt32(exactly: seconds) else { return nil }
            self.init(seconds: seconds)
            return
        }
        return nil
    }
}
