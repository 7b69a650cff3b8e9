import JSON

/// Reads the body of a PutLogs request, more strictly than protobuf requires: fields in numerical
/// order, each once unless it repeats, no unknown fields, all required fields present. SLS warns
/// that it may not parse other orders.
struct LogGroupReader {
    private let rules: LogChecks
    private let bytes: UnsafeRawBufferPointer
    private var logs = ReceivedLogs()

    static func read(
        _ bytes: UnsafeRawBufferPointer,
        rules: LogChecks
    ) throws(SLSRefusal) -> ReceivedLogs {
        var reader = LogGroupReader(rules: rules, bytes: bytes)
        reader.logs.rawBytes = bytes.count
        reader.logs.json.reserve(bytes.count + bytes.count / 4)
        try reader.readGroup()
        guard !reader.logs.entries.isEmpty else {
            throw .badBody("The log group is empty: it has no logs.")
        }
        return reader.logs
    }

    private init(rules: LogChecks, bytes: UnsafeRawBufferPointer) {
        self.rules = rules
        self.bytes = bytes
    }

    private mutating func readGroup() throws(SLSRefusal) {
        var cursor = WireCursor(bytes, 0..<bytes.count)
        var order = FieldOrder(.logGroup)
        while !cursor.isAtEnd {
            let field = try order.next(&cursor)
            let range = try cursor.chunk()
            switch field {
            case 1: try readLog(range)
            case 3:
                try rules.checkTopic(byteCount: range.count)
                logs.topic = try text(range)
            case 4:
                try rules.checkSource(byteCount: range.count)
                logs.source = try text(range)
            case 6: try readTag(range)
            // Category and MachineUUID: SLS shows neither.
            default: try rules.checkText(slice(range))
            }
        }
    }

    private mutating func readLog(_ range: Range<Int>) throws(SLSRefusal) {
        var cursor = WireCursor(bytes, range)
        var order = FieldOrder(.log)
        var time: UInt32?
        var nanoseconds: UInt32?
        var contents: [(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)] = []
        while !cursor.isAtEnd {
            switch try order.next(&cursor) {
            case 1: time = try readTime(&cursor)
            case 2:
                let (key, value) = try readPair(try cursor.chunk(), .content)
                contents.append((slice(key), slice(value)))
            case 4: nanoseconds = try readNanoseconds(&cursor)
            default: throw cursor.problem("Log.values is not for writers")
            }
        }
        guard let time else { throw cursor.problem("a Log has no Time") }
        try rules.checkTime(time, log: logs.entries.count)
        try rules.checkCount(logs.entries.count + 1)
        logs.append(time: time, nanoseconds: nanoseconds) { json in
            for (key, value) in contents { json.member(utf8: key, value) }
        }
    }

    private func readTime(_ cursor: inout WireCursor) throws(SLSRefusal) -> UInt32 {
        let value = try cursor.varint()
        guard let time = UInt32(exactly: value) else {
            throw cursor.problem("Time \(value) is not a uint32")
        }
        return time
    }

    private func readNanoseconds(_ cursor: inout WireCursor) throws(SLSRefusal) -> UInt32 {
        let value = try cursor.fixed32()
        guard value < 1_000_000_000 else {
            throw cursor.problem("Time_ns is \(value), a second has fewer nanoseconds")
        }
        return value
    }

    private mutating func readTag(_ range: Range<Int>) throws(SLSRefusal) {
        let (key, value) = try readPair(range, .logTag)
        logs.appendTag(try text(key), try text(value))
    }

    /// Reads a checked pair of Key and Value, both required.
    private func readPair(
        _ range: Range<Int>,
        _ shape: MessageShape
    ) throws(SLSRefusal) -> (key: Range<Int>, value: Range<Int>) {
        var cursor = WireCursor(bytes, range)
        var order = FieldOrder(shape)
        var key: Range<Int>?
        var value: Range<Int>?
        while !cursor.isAtEnd {
            let field = try order.next(&cursor)
            let text = try cursor.chunk()
            if field == 1 { key = text } else { value = text }
        }
        guard let key else { throw cursor.problem("a \(shape.name) has no Key") }
        guard let value else { throw cursor.problem("a \(shape.name) has no Value") }
        try rules.checkKey(slice(key))
        try rules.checkText(slice(key))
        try rules.checkValue(byteCount: value.count)
        try rules.checkText(slice(value))
        return (key, value)
    }

    private func text(_ range: Range<Int>) throws(SLSRefusal) -> String {
        try rules.checkText(slice(range))
        return String(decoding: slice(range), as: UTF8.self)
    }

    private func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[range])
    }
}
