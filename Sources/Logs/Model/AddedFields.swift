import Glibc

/// Fields that are put into encoded logs, encoded once. SLS does not define what becomes of a log
/// with two fields of one name, so these replace the log's own: a device cannot hide what its
/// request says of it.
package struct AddedFields: Sendable {
    /// The fields as they stand in a log.
    fileprivate var bytes: [UInt8] = []
    /// Sorted, to search.
    private let names: [[UInt8]]
    /// A bit for each length that a name has; lengths of 63 and more share one.
    private var lengths: UInt64 = 0
    private var replacedCount = 0

    /// `others` are more names whose fields are left out.
    package init(_ fields: [(key: String, value: String)], replacing others: [String] = []) {
        for (key, value) in fields {
            bytes.append(pairTagged: LogTag.contents, key: key, value: value)
        }
        names = (fields.map(\.key) + others).map { Array($0.utf8) }
            .sorted { $0.lexicographicallyPrecedes($1) }
        for name in names { lengths |= Self.bit(name.count) }
    }

    private static func bit(_ length: Int) -> UInt64 { 1 << UInt64(min(length, 63)) }

    /// The logs with these fields, and how many own ones were left out; nil if beyond `bytesMax`.
    package func added(
        to logs: DecodedLogs,
        atMost bytesMax: Int
    ) -> (logs: DecodedLogs, removed: Int)? {
        var fields = self
        return logs.adding(&fields, toFirst: .max, atMost: bytesMax)
            .map { ($0, fields.replacedCount) }
    }

    /// Writes the entry of a log with these fields in it, and returns where it ends.
    fileprivate mutating func write(
        into log: UnsafeBufferPointer<UInt8>,
        to start: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutablePointer<UInt8> {
        guard let source = log.baseAddress else { return start }
        // The time: a tag, and bytes up to the first one below 0x80.
        var timeSize = 2
        while source[timeSize - 1] >= 0x80 { timeSize += 1 }
        let own = UnsafeBufferPointer(rebasing: log[timeSize...])
        let replaced = replaced(in: own)
        replacedCount += replaced.count
        let size = replaced.reduce(log.count + bytes.count) { $0 - $1.count }
        start.pointee = GroupTag.logs
        var out = Varint.write(size, to: start + 1)
        func copy(_ part: UnsafeBufferPointer<UInt8>) {
            guard let first = part.baseAddress else { return }
            out.update(from: first, count: part.count)
            out += part.count
        }
        copy(UnsafeBufferPointer(rebasing: log[..<timeSize]))
        bytes.withUnsafeBufferPointer { copy($0) }
        var next = 0
        for field in replaced {
            copy(UnsafeBufferPointer(rebasing: own[next..<field.lowerBound]))
            next = field.upperBound
        }
        copy(UnsafeBufferPointer(rebasing: own[next...]))
        return out
    }

    /// The log's own fields with these names; nearly no log has any.
    private func replaced(in own: UnsafeBufferPointer<UInt8>) -> [Range<Int>] {
        var found: [Range<Int>] = []
        guard let start = own.baseAddress, !names.isEmpty else { return found }
        var out = start
        let end = start + own.count
        // Behind its fields a log has at most its nanoseconds.
        while out < end, out.pointee == LogTag.contents {
            let field = out
            out += 1
            let size = Varint.read(&out)
            let next = out + size
            out += 1
            let count = Varint.read(&out)
            if lengths & Self.bit(count) != 0,
                has(UnsafeBufferPointer(start: out, count: count))
            {
                found.append(field - start..<next - start)
            }
            out = next
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

extension DecodedLogs {
    /// Copies the kept logs with these fields in each of them, or in the first ones, before their
    /// own. A log's own field of such a name is replaced. nil when all logs together could exceed
    /// `bytesMax`, since a few bytes of log can bring kilobytes of tags.
    ///
    /// For entries that begin with their time, as this room writes them.
    package func adding(
        _ fields: [(key: String, value: String)],
        toFirst logsMax: Int = .max,
        atMost bytesMax: Int
    ) -> DecodedLogs? {
        var extra = AddedFields(fields)
        return adding(&extra, toFirst: logsMax, atMost: bytesMax)
    }

    fileprivate func adding(
        _ extra: inout AddedFields,
        toFirst logsMax: Int,
        atMost bytesMax: Int
    ) -> DecodedLogs? {
        var result = self
        var (room, logsMax) = (bytesMax, logsMax)
        func added(_ logs: EncodedLogs) -> EncodedLogs? {
            let added = logs.adding(&extra, toFirst: logsMax, atMost: room)
            room -= added?.bytes.count ?? 0
            logsMax -= min(logs.count, logsMax)
            return added
        }
        guard let sound = added(sound) else { return nil }
        result.sound = sound
        for index in faulty.indices {
            guard let logs = added(faulty[index].logs) else { return nil }
            result.faulty[index].logs = logs
        }
        return result
    }
}

extension EncodedLogs {
    fileprivate func adding(
        _ extra: inout AddedFields,
        toFirst logsMax: Int,
        atMost bytesMax: Int
    ) -> EncodedLogs? {
        // A length takes four bytes more at most when it grows.
        let (added, overflow) = min(count, logsMax)
            .multipliedReportingOverflow(by: extra.bytes.count + 4)
        guard !overflow, bytes.count + added <= bytesMax else { return nil }
        let written = [UInt8](unsafeUninitializedCapacity: bytes.count + added) { buffer, filled in
            guard let start = buffer.baseAddress else { return }
            filled = write(&extra, toFirst: logsMax, to: start)
        }
        return EncodedLogs(bytes: written, count: count)
    }

    private func write(
        _ extra: inout AddedFields,
        toFirst logsMax: Int,
        to start: UnsafeMutablePointer<UInt8>
    ) -> Int {
        bytes.withUnsafeBufferPointer { bytes in
            guard var source = bytes.baseAddress else { return 0 }
            let end = source + bytes.count
            var out = start
            var logs = 0
            while source < end, logs < logsMax {
                source += 1
                let size = Varint.read(&source)
                let log = UnsafeBufferPointer(start: source, count: size)
                out = extra.write(into: log, to: out)
                source += size
                logs += 1
            }
            out.update(from: source, count: end - source)
            return out - start + (end - source)
        }
    }
}
