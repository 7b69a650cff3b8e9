import Glibc

/// What is special about a log, noted while it is read. Nearly all logs have nothing.
struct LogRemarks {
    enum Oversized {
        case name, value
    }

    /// A stored flag, since every log asks for it twice.
    private(set) var isEmpty = true
    /// Why the log cannot be sent, when its time is the reason.
    private(set) var lateness: LogFault?
    /// Why it cannot be sent, when a field is.
    var fieldFault: LogFault? { didSet { isEmpty = false } }
    var isCorrected = false { didSet { isEmpty = false } }
    /// The part of the log's own time below the second.
    var nanoseconds: UInt32? { didSet { isEmpty = false } }
    /// Where fields start whose name or value is too long.
    private(set) var oversized: [(what: Oversized, content: Int)] = []
    /// Where fields start that had bytes that are no text.
    private(set) var invalid: [Int] = []

    /// The last of several times counts, so nil takes an earlier fault back.
    mutating func setLateness(_ fault: LogFault?) {
        guard fault != lateness else { return }
        lateness = fault
        isEmpty = false
    }

    mutating func addOversized(_ what: Oversized, at content: Int) {
        oversized.append((what, content))
        isEmpty = false
    }

    mutating func addInvalid(at content: Int) {
        invalid.append(content)
        isEmpty = false
    }

    /// Nothing was written behind that field.
    mutating func forget(fieldAt content: Int) {
        while oversized.last?.content == content { oversized.removeLast() }
        while invalid.last == content { invalid.removeLast() }
    }

    mutating func clear() {
        guard !isEmpty else { return }
        // Memory is kept, since a body may have half a million logs with remarks; but not all of
        // it, since one log may have as many.
        let (oversized, invalid) = (emptied(oversized), emptied(invalid))
        self = LogRemarks()
        (self.oversized, self.invalid) = (oversized, invalid)
    }

    private func emptied<Remark>(_ list: [Remark]) -> [Remark] {
        guard list.capacity <= 64 else { return [] }
        var list = list
        list.removeAll(keepingCapacity: true)
        return list
    }
}

/// The fields of the log that is being written, as they stand in the writer's memory.
struct WrittenFields {
    let memory: UnsafeMutablePointer<UInt8>
    let start: Int
    let end: Int

    /// True when a later field has the same name: its tag is zero then.
    func isReplaced(at content: Int) -> Bool { memory[content] == 0 }

    /// The names of these fields as a list for a mark.
    func names(at contents: [Int]) -> [UInt8] {
        var list = NameList()
        for content in contents { list.add(FieldNames.key(of: content, memory)) }
        return list.names
    }

    func clippedName(at content: Int) -> String {
        let name = FieldNames.key(of: content, memory)
        guard let start = name.baseAddress, name.count > FieldName.bytesMax else {
            return String(decoding: name, as: UTF8.self)
        }
        let kept = utf8Boundary(start, atMost: FieldName.bytesMax)
        return String(decoding: name[..<kept], as: UTF8.self) + "..."
    }

    /// Where fields start that have a U+FFFD.
    var withReplacementCharacter: [Int] {
        var fields: [Int] = []
        var pointer = UnsafePointer(memory + start)
        let end = UnsafePointer(memory + self.end)
        while pointer < end {
            let field = pointer
            pointer += 1
            let size = Varint.read(&pointer)
            if field.pointee == LogTag.contents, Self.hasReplacementCharacter(pointer, size) {
                fields.append(field - UnsafePointer(memory))
            }
            pointer += size
        }
        return fields
    }

    private static func hasReplacementCharacter(
        _ text: UnsafePointer<UInt8>,
        _ count: Int
    ) -> Bool {
        var pointer = text
        while let lead = memchr(pointer, 0xEF, text + count - pointer) {
            pointer = UnsafePointer(lead.assumingMemoryBound(to: UInt8.self)) + 1
            guard text + count - pointer >= 2 else { return false }
            if pointer[0] == 0xBF, pointer[1] == 0xBD { return true }
        }
        return false
    }

    /// Closes the gaps of replaced fields in one pass, and returns where the fields end then.
    @inline(never)
    func closeGaps() -> Int {
        var source = UnsafePointer(memory + start)
        let end = UnsafePointer(memory + self.end)
        var pointer = memory + start
        while source < end {
            let field = source
            source += 1
            let size = Varint.read(&source)
            source += size
            guard field.pointee == LogTag.contents else { continue }
            let count = source - field
            pointer.update(from: field, count: count)
            pointer += count
        }
        return pointer - memory
    }
}

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
