/// Walks the fields of one message, strictly, without copying.
struct ProtobufReader {
    private(set) var position: Int
    /// Where the last field starts.
    private(set) var start = 0
    private let end: Int
    private let bytes: UnsafeRawBufferPointer

    enum Value: Equatable {
        case number(UInt64)
        case fixed32(UInt32)
        case fixed64(UInt64)
        case bytes(Range<Int>)
    }

    init(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>? = nil) {
        self.bytes = bytes
        position = range?.lowerBound ?? 0
        end = range?.upperBound ?? bytes.count
    }

    /// The next field's number and value; nil at the end.
    mutating func next() throws(LogDecodingError) -> (field: Int, value: Value)? {
        guard position < end else { return nil }
        start = position
        let tag = try varint()
        guard tag >> 3 > 0, tag >> 3 < 1 << 29 else { throw fault("no field has this number") }
        let field = Int(tag >> 3)
        switch tag & 7 {
        case 0: return (field, .number(try varint()))
        case 1:
            let range = try take(8)
            let raw = bytes.loadUnaligned(fromByteOffset: range.lowerBound, as: UInt64.self)
            return (field, .fixed64(UInt64(littleEndian: raw)))
        case 2:
            let count = try varint()
            guard count <= UInt64(end - position) else {
                throw fault("the field is longer than its message")
            }
            return (field, .bytes(try take(Int(count))))
        case 5:
            let range = try take(4)
            let raw = bytes.loadUnaligned(fromByteOffset: range.lowerBound, as: UInt32.self)
            return (field, .fixed32(UInt32(littleEndian: raw)))
        default: throw fault("the field has a wire type that is not in use")
        }
    }

    private mutating func take(_ count: Int) throws(LogDecodingError) -> Range<Int> {
        guard count <= end - position else {
            throw fault(position, "the field is longer than its message")
        }
        defer { position += count }
        return position..<position + count
    }

    private mutating func varint() throws(LogDecodingError) -> UInt64 {
        let start = position
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while position < end {
            let byte = bytes[position]
            position += 1
            guard shift < 63 || byte <= 1 else { throw fault(start, "the number exceeds 64 bits") }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw fault(start, "the number is cut off")
    }

    func fault(_ position: Int, _ reason: String) -> LogDecodingError {
        LogDecodingError(position: position, reason: reason)
    }

    /// A fault of the last field.
    func fault(_ reason: String) -> LogDecodingError { fault(start, reason) }

    func wrongType(_ field: Int, of message: StaticString) -> LogDecodingError {
        fault("field \(field) of \(message) has another type than it should")
    }

    /// Key and value of a Content or a LogTag.
    func pair(in range: Range<Int>) throws(LogDecodingError) -> (key: String, value: String) {
        let pair = try TextPair(bytes, range, of: "Content")
        return (text(in: pair.key), text(in: pair.value))
    }

    func text(in range: Range<Int>) -> String {
        String(decoding: UnsafeRawBufferPointer(rebasing: bytes[range]), as: UTF8.self)
    }
}

/// Where key and value of a Content or a LogTag stand.
struct TextPair {
    private(set) var key: Range<Int>
    private(set) var value: Range<Int>

    init(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        of message: StaticString
    ) throws(LogDecodingError) {
        key = range.lowerBound..<range.lowerBound
        value = key
        var fields = ProtobufReader(bytes, in: range)
        while let field = try fields.next() {
            switch field {
            case (1, .bytes(let text)): key = text
            case (2, .bytes(let text)): value = text
            case (1...2, _): throw fields.wrongType(field.field, of: message)
            default: continue
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    func text(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        UnsafeRawBufferPointer(rebasing: self[range]).bindMemory(to: UInt8.self)
    }
}
