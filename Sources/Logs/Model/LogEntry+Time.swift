extension LogTime {
    /// When the log of this entry, tag and length included, happened, without reading its fields; nil when
    /// that cannot be told.
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

extension EncodedLogs {
    /// Adds an entry that was made before, tag and length included.
    package mutating func append(entry: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: entry)
        count += 1
    }

    /// Adds an entry with another time. The seconds that it had become its field `__original_time__`, unless
    /// it has one: the first time that was taken for wrong is the device's own.
    package mutating func append(
        entry: UnsafeRawBufferPointer,
        rewrittenTo time: LogTime
    ) throws(ProtobufError) {
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
}
