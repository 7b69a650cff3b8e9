import JSON

/// Reads a PutLogs body more strictly than protobuf: fields in order, only repeated ones twice,
/// none unknown, all required. SLS warns that it may not parse other orders.
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

/// Reads protobuf's wire format in a range of bytes, forwards only.
struct WireCursor {
    enum Kind: UInt8 {
        case varint = 0
        case fixed64 = 1
        case chunk = 2
        case fixed32 = 5
    }

    let bytes: UnsafeRawBufferPointer
    private(set) var position: Int
    let end: Int

    init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    var isAtEnd: Bool { position == end }

    /// The refusal for a fault, here or at the field's start.
    func problem(_ reason: String, at start: Int? = nil) -> SLSRefusal {
        .badBody("Protobuf content cannot be parsed: \(reason) (byte \(start ?? position)).")
    }

    mutating func tag() throws(SLSRefusal) -> (number: Int, kind: Kind) {
        let start = position
        let tag = try varint()
        guard let kind = Kind(rawValue: UInt8(tag & 7)) else {
            throw problem("wire type \(tag & 7) is not in use", at: start)
        }
        guard (1...0x1FFF_FFFF).contains(tag >> 3) else {
            throw problem("field number \(tag >> 3) cannot be", at: start)
        }
        return (Int(tag >> 3), kind)
    }

    mutating func varint() throws(SLSRefusal) -> UInt64 {
        var value: UInt64 = 0
        for index in 0..<10 {
            guard position < end else { throw problem("a number is cut off") }
            let byte = bytes[position]
            position += 1
            // The tenth byte has room for one bit only.
            guard index < 9 || byte <= 1 else { break }
            value |= UInt64(byte & 0x7F) << UInt64(7 * index)
            if byte < 0x80 { return value }
        }
        throw problem("a number has more than 64 bits")
    }

    /// The range of a string or of a nested message.
    mutating func chunk() throws(SLSRefusal) -> Range<Int> {
        let length = try varint()
        guard length <= UInt64(end - position) else {
            throw problem("\(length) bytes are announced where \(end - position) are left")
        }
        let range = position..<position + Int(length)
        position = range.upperBound
        return range
    }

    mutating func fixed32() throws(SLSRefusal) -> UInt32 {
        guard end - position >= 4 else { throw problem("four bytes are announced, fewer are left") }
        let value = bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)
        position += 4
        return UInt32(littleEndian: value)
    }
}

struct MessageShape: Sendable {
    let name: StaticString
    /// The kinds of the fields 1, 2, …; there are no others.
    let kinds: [WireCursor.Kind]
    /// The fields that may repeat.
    let repeated: Set<Int>

    static let logGroup = MessageShape(
        name: "LogGroup",
        kinds: [.chunk, .chunk, .chunk, .chunk, .chunk, .chunk],
        repeated: [1, 6]
    )
    static let log = MessageShape(
        name: "Log",
        kinds: [.varint, .chunk, .chunk, .fixed32],
        repeated: [2]
    )
    static let content = MessageShape(name: "Content", kinds: [.chunk, .chunk], repeated: [])
    static let logTag = MessageShape(name: "LogTag", kinds: [.chunk, .chunk], repeated: [])
}

/// Checks that a message's fields come in the order of their numbers.
struct FieldOrder {
    let shape: MessageShape
    private var previous = 0

    init(_ shape: MessageShape) {
        self.shape = shape
    }

    mutating func next(_ cursor: inout WireCursor) throws(SLSRefusal) -> Int {
        let start = cursor.position
        let (number, kind) = try cursor.tag()
        guard number <= shape.kinds.count else {
            throw cursor.problem("\(shape.name) has no field \(number)", at: start)
        }
        guard kind == shape.kinds[number - 1] else {
            throw cursor.problem(
                "field \(number) of \(shape.name) has the wrong wire type",
                at: start
            )
        }
        guard number > previous || number == previous && shape.repeated.contains(number) else {
            throw cursor.problem(
                number == previous
                    ? "field \(number) of \(shape.name) is repeated"
                    : "field \(number) of \(shape.name) comes after field \(previous)",
                at: start
            )
        }
        previous = number
        return number
    }
}
