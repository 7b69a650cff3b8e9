/// A log that came as protobuf and was copied as it is. One look at the copy tells if it is what
/// `LogWriter` would have written: the time first, in five bytes and believed, then fields with
/// nothing but a name and a value, none of them empty, reserved, too long, repeated or no text,
/// then perhaps the nanoseconds. All encoders in use write so.
struct LogCopy {
    private let start: UnsafeMutablePointer<UInt8>
    private let end: UnsafeMutablePointer<UInt8>

    /// Bytes behind the end are read, within the output's slack, and never believed.
    @inline(__always)
    init(_ start: UnsafeMutablePointer<UInt8>, count: Int) {
        self.start = start
        end = start + count
    }

    @inline(__always)
    func hasTime(within believed: ClosedRange<UInt32>?) -> Bool {
        guard start[0] == LogTag.time, start[1] & start[2] & start[3] & start[4] >= 0x80,
            start[5] < 0x10
        else { return false }
        guard let believed else { return true }
        let low = UInt32(start[1] & 0x7F) | UInt32(start[2] & 0x7F) << 7
        let middle = UInt32(start[3] & 0x7F) << 14 | UInt32(start[4] & 0x7F) << 21
        return believed.contains(low | middle | UInt32(start[5]) << 28)
    }

    /// Adds the names of the fields to `names`, which finds repeated ones.
    @inline(__always)
    func hasSoundFields(
        namesUpTo keyBytes: Int,
        valuesUpTo valueMax: Int,
        _ names: inout FieldNames,
        in memory: UnsafeMutablePointer<UInt8>
    ) -> Bool {
        let keyMax = min(keyBytes, 0x7F)
        var pointer = start + 1 + Varint.timeSize
        while pointer < end, pointer.pointee == LogTag.contents {
            let field = pointer
            pointer += 1
            let size = Self.length(&pointer)
            guard size >= 5, size <= end - pointer else { return false }
            let fieldEnd = pointer + size
            let keyCount = Int(pointer[1])
            let key = pointer + 2
            guard pointer[0] == PairTag.key, keyCount > 0, keyCount <= keyMax,
                keyCount <= size - 4, key[keyCount] == PairTag.value
            else { return false }
            pointer = key + keyCount + 1
            let valueCount = Self.length(&pointer)
            guard valueCount >= 0, valueCount == fieldEnd - pointer, valueCount <= valueMax,
                Self.isText(key, keyCount), Self.isText(pointer, valueCount)
            else { return false }
            if key[0] == UInt8(ascii: "_"),
                ReservedKey(UnsafeBufferPointer(start: key, count: keyCount)) != nil
            {
                return false
            }
            names.add(key, keyCount, content: field - memory, in: memory)
            pointer = fieldEnd
        }
        return pointer == end || areNanoseconds(pointer)
    }

    private func areNanoseconds(_ pointer: UnsafeMutablePointer<UInt8>) -> Bool {
        guard end - pointer == 5, pointer.pointee == LogTag.nanoseconds else { return false }
        let number = UnsafeRawPointer(pointer + 1).loadUnaligned(as: UInt32.self)
        return UInt32(littleEndian: number) < 1_000_000_000
    }

    /// A length of four bytes at most; -1 when it has more, or more than it needs.
    @inline(__always)
    private static func length(_ pointer: inout UnsafeMutablePointer<UInt8>) -> Int {
        let first = Int(pointer[0])
        pointer += 1
        if first < 0x80 { return first }
        var value = first & 0x7F
        var shift = 7
        while shift < 28 {
            let byte = Int(pointer.pointee)
            pointer += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80 { return byte == 0 ? -1 : value }
            shift += 7
        }
        return -1
    }

    /// True when the bytes are UTF-8. Reads up to seven bytes behind them.
    @inline(__always)
    private static func isText(_ start: UnsafeMutablePointer<UInt8>, _ count: Int) -> Bool {
        let raw = UnsafeRawPointer(start)
        var bits: UInt64 = 0
        var offset = 0
        while offset + 8 <= count {
            bits |= raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        if offset < count {
            let last = raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            bits |= UInt64(littleEndian: last) << UInt64(64 - 8 * (count - offset))
        }
        if bits & 0x8080_8080_8080_8080 == 0 { return true }
        return UnsafeBufferPointer(start: start, count: count).isUTF8
    }
}
