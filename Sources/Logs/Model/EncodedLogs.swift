/// Logs of one or more requests as SLS wants them: `Log` entries of a LogGroup (0x0A, length, Log)
/// one after the other, ready to be joined to others of the same stream.
package struct EncodedLogs: Sendable, Equatable {
    package var bytes: [UInt8]
    package var count: Int

    package init(bytes: [UInt8] = [], count: Int = 0) {
        self.bytes = bytes
        self.count = count
    }

    /// Adds one log. For logs that come one at a time; the JSON decoder writes whole requests.
    ///
    /// Fields stand in field-number order, as SLS asks, and an empty value is written, because the
    /// schema requires it. Names that SLS reserves get the prefix that the JSON decoder gives them.
    package mutating func append(
        time: LogTime,
        fields: [(key: String, value: String)]
    ) {
        append(time: time, named: fields.map { (ReservedKey.storable($0.key), $0.value) })
    }

    /// Adds one log with names as they are, also those that SLS reserves.
    package mutating func append(
        time: LogTime,
        named fields: [(key: String, value: String)]
    ) {
        var log: [UInt8] = [LogTag.time]
        log.append(paddedVarint: time.seconds)
        for (key, value) in fields {
            log.append(pairTagged: LogTag.contents, key: key, value: value)
        }
        if time.nanoseconds > 0 {
            log.append(LogTag.nanoseconds)
            withUnsafeBytes(of: time.nanoseconds.littleEndian) { log.append(contentsOf: $0) }
        }
        bytes.append(GroupTag.logs)
        bytes.append(varint: UInt64(log.count))
        bytes.append(contentsOf: log)
        count += 1
    }

    /// Adds an encoded entry, tag and length included.
    package mutating func append(entry: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: entry)
        count += 1
    }

    /// Adds an encoded entry with another time. Its former seconds become the field
    /// `__original_time__`, unless it has one: the first time that was replaced is the device's
    /// own.
    package mutating func append(
        entry: UnsafeRawBufferPointer,
        rewrittenTo time: LogTime
    ) throws(LogDecodingError) {
        var outer = ProtobufReader(entry)
        guard case (1, .bytes(let range))? = try outer.next() else {
            throw outer.fault(0, "no log entry starts here")
        }
        var fields: [UInt8] = []
        fields.reserveCapacity(range.count + 32)
        var original: UInt64?
        var hasOriginal = false
        var log = ProtobufReader(entry, in: range)
        var start = log.position
        while let field = try log.next() {
            defer { start = log.position }
            switch field {
            case (1, .number(let seconds)):
                original = seconds
                continue
            // The part below the second belongs to the time that is replaced.
            case (4, _): continue
            case (2, .bytes(let pair)):
                let name = try log.pair(in: pair).key
                hasOriginal = hasOriginal || name == ReservedKey.originalTimeName
            default: break
            }
            fields.append(contentsOf: entry[start..<log.position])
        }
        if let original, !hasOriginal {
            fields.append(
                pairTagged: LogTag.contents,
                key: ReservedKey.originalTimeName,
                value: "\(original)"
            )
        }
        bytes.append(GroupTag.logs)
        bytes.append(varint: UInt64(1 + Varint.timeSize + fields.count))
        bytes.append(LogTag.time)
        bytes.append(paddedVarint: time.seconds)
        bytes.append(contentsOf: fields)
        count += 1
    }

    /// Cuts between entries into pieces within both bounds, in order. A larger entry stands alone.
    package func pieces(
        atMost maxBytes: Int,
        logs maxLogs: Int = .max
    ) throws(LogDecodingError) -> [EncodedLogs] {
        if bytes.count <= maxBytes && count <= maxLogs { return count == 0 ? [] : [self] }
        return try bytes.withUnsafeBufferPointer { bytes throws(LogDecodingError) in
            var pieces: [EncodedLogs] = []
            var entries = LogEntries(UnsafeRawBufferPointer(bytes))
            var (start, end, logs) = (0, 0, 0)
            while let entry = try entries.next() {
                if logs > 0 && (entry.upperBound - start > maxBytes || logs >= maxLogs) {
                    pieces.append(EncodedLogs(bytes: Array(bytes[start..<end]), count: logs))
                    (start, logs) = (entry.lowerBound, 0)
                }
                end = entry.upperBound
                logs += 1
            }
            if logs > 0 {
                pieces.append(EncodedLogs(bytes: Array(bytes[start..<end]), count: logs))
            }
            return pieces
        }
    }
}

/// The `Log` entries of encoded logs, one after the other, without copying any.
///
/// The bytes may come from disk: a walk over damaged ones ends in an error, never outside of them.
package struct LogEntries {
    private let bytes: UnsafeRawBufferPointer
    package private(set) var position = 0

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// The range of the next entry, its tag and length included; nil at the end.
    package mutating func next() throws(LogDecodingError) -> Range<Int>? {
        guard position < bytes.count else { return nil }
        let start = position
        guard bytes[start] == GroupTag.logs else { throw fault("no log entry starts here") }
        var pointer = start + 1
        var size = 0
        var shift = 0
        while true {
            guard pointer < bytes.count, shift < 35 else {
                throw fault("the entry's length is broken")
            }
            let byte = bytes[pointer]
            pointer += 1
            size |= Int(byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 { break }
        }
        guard size <= bytes.count - pointer else { throw fault("the entry is cut off") }
        position = pointer + size
        return start..<position
    }

    private func fault(_ reason: String) -> LogDecodingError {
        LogDecodingError(position: position, reason: reason)
    }

    package static func count(_ bytes: [UInt8]) throws(LogDecodingError) -> Int {
        try bytes.withUnsafeBufferPointer { bytes throws(LogDecodingError) in
            var entries = LogEntries(UnsafeRawBufferPointer(bytes))
            var count = 0
            while try entries.next() != nil { count += 1 }
            return count
        }
    }
}

/// One log read back for people: dead letters, the live tail, tests.
package struct LogEntry: Sendable {
    package let time: LogTime
    package let fields: [(key: String, value: String)]

    package init(time: LogTime, fields: [(key: String, value: String)]) {
        self.time = time
        self.fields = fields
    }

    /// Reads one entry as `LogEntries` found it, tag and length included.
    package init(_ entry: UnsafeRawBufferPointer) throws(LogDecodingError) {
        var outer = ProtobufReader(entry)
        guard case (1, .bytes(let range))? = try outer.next() else {
            throw outer.fault(0, "no log entry starts here")
        }
        time = try LogTime(ofLog: range, of: entry)
        var log = ProtobufReader(entry, in: range)
        var fields: [(key: String, value: String)] = []
        while let field = try log.next() {
            if case (2, .bytes(let range)) = field { fields.append(try log.pair(in: range)) }
        }
        self.fields = fields
    }
}

extension LogTime {
    /// The time of a log, without reading its fields.
    init(
        ofLog log: Range<Int>,
        of bytes: UnsafeRawBufferPointer
    ) throws(LogDecodingError) {
        var reader = ProtobufReader(bytes, in: log)
        var seconds: UInt32?
        var nanoseconds: UInt32 = 0
        while let field = try reader.next() {
            switch field {
            case (1, .number(let number)): seconds = UInt32(truncatingIfNeeded: number)
            case (4, .fixed32(let number)): nanoseconds = number
            default: continue
            }
        }
        guard let seconds, nanoseconds < 1_000_000_000 else {
            throw reader.fault(log.lowerBound, "the log has no valid time")
        }
        self.init(seconds: seconds, nanoseconds: nanoseconds)
    }

    /// The time of an encoded entry, tag and length included; nil without one. Reads no fields.
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
