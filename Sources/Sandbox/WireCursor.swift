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

    /// Reads the message in this range.
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

    /// The number and kind of the next field.
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
