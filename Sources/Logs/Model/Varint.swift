/// Protobuf's numbers of variable length: seven bits a byte, low bits first.
package enum Varint {
    /// A time is always written with five bytes, padded when it needs fewer, as Alibaba's own C
    /// producer does. Its place can so be kept before it is known.
    @inlinable package static var timeSize: Int { 5 }

    @inlinable @inline(__always)
    package static func size(_ value: Int) -> Int {
        if value < 0x80 { return 1 }
        if value < 0x4000 { return 2 }
        if value < 0x20_0000 { return 3 }
        return value < 0x1000_0000 ? 4 : 5
    }

    /// Writes a length below 2^35 and returns where the next byte goes.
    @inlinable @inline(__always)
    package static func write(_ value: Int, to place: UnsafeMutablePointer<UInt8>)
        -> UnsafeMutablePointer<UInt8>
    {
        var place = place
        var rest = value
        while rest >= 0x80 {
            place.pointee = UInt8(truncatingIfNeeded: rest) | 0x80
            place += 1
            rest >>= 7
        }
        place.pointee = UInt8(truncatingIfNeeded: rest)
        return place + 1
    }

    /// Reads a length that `write` wrote, and moves behind it.
    @inlinable @inline(__always)
    package static func read(_ place: inout UnsafePointer<UInt8>) -> Int {
        var value = 0
        var shift = 0
        while true {
            let byte = place.pointee
            place += 1
            value |= Int(byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 { return value }
        }
    }

    @inlinable @inline(__always)
    package static func writePadded(_ value: UInt32, to place: UnsafeMutablePointer<UInt8>) {
        place[0] = UInt8(truncatingIfNeeded: value) | 0x80
        place[1] = UInt8(truncatingIfNeeded: value >> 7) | 0x80
        place[2] = UInt8(truncatingIfNeeded: value >> 14) | 0x80
        place[3] = UInt8(truncatingIfNeeded: value >> 21) | 0x80
        place[4] = UInt8(truncatingIfNeeded: value >> 28)
    }
}

extension [UInt8] {
    mutating func append(varint value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    mutating func append(paddedVarint value: UInt32) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Varint.timeSize) { place in
            guard let start = place.baseAddress else { return }
            Varint.writePadded(value, to: start)
            append(contentsOf: UnsafeBufferPointer(place))
        }
    }

    mutating func append(textTagged tag: UInt8, _ text: some Collection<UInt8>) {
        append(tag)
        append(varint: UInt64(text.count))
        append(contentsOf: text)
    }

    /// A Content or a LogTag: key and value, both always written.
    mutating func append(pairTagged tag: UInt8, key: String, value: String) {
        append(pairTagged: tag, key: key.utf8, value: value.utf8)
    }

    mutating func append(
        pairTagged tag: UInt8,
        key: some Collection<UInt8>,
        value: some Collection<UInt8>
    ) {
        let (keyCount, valueCount) = (key.count, value.count)
        let size = 2 + Varint.size(keyCount) + keyCount + Varint.size(valueCount) + valueCount
        append(tag)
        append(varint: UInt64(size))
        append(textTagged: PairTag.key, key)
        append(textTagged: PairTag.value, value)
    }
}

/// The tag bytes (field number and wire type) of LogGroup.
package enum GroupTag {
    @inlinable package static var logs: UInt8 { 0x0A }
    static let topic: UInt8 = 0x1A
    static let source: UInt8 = 0x22
    static let logTags: UInt8 = 0x32
}

/// The tag bytes of Log.
package enum LogTag {
    @inlinable package static var time: UInt8 { 0x08 }
    @inlinable package static var contents: UInt8 { 0x12 }
    @inlinable package static var nanoseconds: UInt8 { 0x25 }
}

/// The tag bytes of Content and LogTag, which look alike.
package enum PairTag {
    @inlinable package static var key: UInt8 { 0x0A }
    @inlinable package static var value: UInt8 { 0x12 }
}
