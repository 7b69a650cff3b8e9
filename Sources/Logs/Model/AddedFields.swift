import Glibc

/// Fields that are put into logs which are encoded already. SLS does not say what becomes of a log with two
/// fields of one name, so these replace the log's own: a device cannot hide what its request says of it.
struct AddedFields: Sendable {
    /// As they stand in a log.
    private(set) var bytes: [UInt8] = []
    /// In order, to search.
    private let names: [[UInt8]]
    /// A bit for each length that one of the names has, those of 63 and more together.
    private var lengths: UInt64 = 0
    /// How many fields of the logs' own were left out.
    private(set) var replacedCount = 0

    /// `others` are names that are left out as those of the fields are.
    init(_ fields: [(key: String, value: String)], replacing others: [String] = []) {
        for (key, value) in fields {
            bytes.append(pairTagged: LogTag.contents, key: key, value: value)
        }
        names = (fields.map(\.key) + others).map { Array($0.utf8) }
            .sorted { $0.lexicographicallyPrecedes($1) }
        for name in names { lengths |= Self.bit(name.count) }
    }

    private static func bit(_ length: Int) -> UInt64 { 1 << UInt64(min(length, 63)) }

    /// Writes the entry of a log with these fields in it, and returns where it ends.
    mutating func write(
        into log: UnsafeBufferPointer<UInt8>,
        to start: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutablePointer<UInt8> {
        guard let source = log.baseAddress else { return start }
        // The time: a tag, and bytes of which the last is below 0x80.
        var timeSize = 2
        while source[timeSize - 1] >= 0x80 { timeSize += 1 }
        let own = UnsafeBufferPointer(rebasing: log[timeSize...])
        let replaced = replaced(in: own)
        replacedCount += replaced.count
        let size = replaced.reduce(log.count + bytes.count) { $0 - $1.count }
        start.pointee = GroupTag.logs
        var place = Varint.write(size, to: start + 1)
        func copy(_ part: UnsafeBufferPointer<UInt8>) {
            guard let first = part.baseAddress else { return }
            place.update(from: first, count: part.count)
            place += part.count
        }
        copy(UnsafeBufferPointer(rebasing: log[..<timeSize]))
        bytes.withUnsafeBufferPointer { copy($0) }
        var next = 0
        for field in replaced {
            copy(UnsafeBufferPointer(rebasing: own[next..<field.lowerBound]))
            next = field.upperBound
        }
        copy(UnsafeBufferPointer(rebasing: own[next...]))
        return place
    }

    /// Where the log's own fields of these names stand; nearly no log has any.
    private func replaced(in own: UnsafeBufferPointer<UInt8>) -> [Range<Int>] {
        var found: [Range<Int>] = []
        guard let start = own.baseAddress, !names.isEmpty else { return found }
        var place = start
        let end = start + own.count
        // Behind its fields a log has at most its nanoseconds.
        while place < end, place.pointee == LogTag.contents {
            let field = place
            place += 1
            let size = Varint.read(&place)
            let next = place + size
            place += 1
            let count = Varint.read(&place)
            if lengths & Self.bit(count) != 0,
                has(UnsafeBufferPointer(start: place, count: count))
            {
                found.append(field - start..<next - start)
            }
            place = next
        }
        return found
    }

    private func has(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        var (low, high) = (0, names.count)
        while low < high {
            let middle = (low + high) / 2
            let order = Self.order(names[middle], name)
            if order == 0 { return true }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return false
    }

    private static func order(_ left: [UInt8], _ right: UnsafeBufferPointer<UInt8>) -> Int {
        let result = left.withUnsafeBufferPointer { left -> CInt in
            guard let first = left.baseAddress, let second = right.baseAddress else { return 0 }
            return memcmp(first, second, min(left.count, right.count))
        }
        return result == 0 ? left.count - right.count : Int(result)
    }
}
