extension JSONLogWalk {
    /// One object as one log. Its length and its time come first but are known last: their places are
    /// kept, and the log moves when its length needs more or fewer bytes than the one before it.
    mutating func log(depth: Int) throws(JSONFault) {
        guard logCount < limits.logs else { throw fault(.tooManyLogs(limits.logs)) }
        makeRoom(from: Int(tokens[next]))
        let entry = length
        let guess = logLengthSize
        let start = entry + 1 + guess
        length = start + 1 + Varint.timeSize
        let batchTime = time
        names.startLog()

        next += 1
        guard next < tokenCount else { throw unfinished }
        if byte == UInt8(ascii: "}") {
            next += 1
        } else {
            try fields(depth: depth)
        }

        if names.hasReplaced { dropReplaced(from: start + 1 + Varint.timeSize) }
        let body = memory.start + start
        body[0] = LogTag.time
        Varint.writePadded(time.seconds, to: body + 1)
        if time.nanoseconds > 0 {
            memory.start[length] = LogTag.nanoseconds
            UnsafeMutableRawPointer(memory.start + length + 1)
                .storeBytes(of: time.nanoseconds.littleEndian, as: UInt32.self)
            length += 5
        }
        time = batchTime

        let count = length - start
        let size = Varint.size(count)
        if size != guess {
            (memory.start + entry + 1 + size).update(from: memory.start + start, count: count)
            length += size - guess
            logLengthSize = size
        }
        memory.start[entry] = GroupTag.logs
        _ = Varint.write(count, to: memory.start + entry + 1)
        logCount += 1
    }

    /// Fields and the closing brace.
    private mutating func fields(depth: Int) throws(JSONFault) {
        while true {
            try field(depth: depth)
            // A field ends before the last token.
            let separator = byte
            guard separator == UInt8(ascii: ",") else {
                guard separator == UInt8(ascii: "}") else { throw fault(.objectEndExpected) }
                next += 1
                return
            }
            next += 1
        }
    }

    /// Reads a field up to the token after it, of which there is one then.
    private mutating func field(depth: Int) throws(JSONFault) {
        let (text, tokens) = (text, tokens)
        // Key, colon, value and the token after it: one check for all four.
        guard next + 3 < tokenCount else { throw brokenField() }
        let keyStart = Int(tokens[next]) + 1
        let colon = Int(tokens[next + 1])
        guard text[keyStart - 1] == UInt8(ascii: "\""), text[colon] == UInt8(ascii: ":") else {
            throw brokenField()
        }
        let keyCount = try stringCount(keyStart, before: colon)
        makeRoom(from: keyStart)

        let token = Int(tokens[next + 2])
        let after = Int(tokens[next + 3])
        let value: Int
        let valueCount: Int
        switch text[token] {
        case UInt8(ascii: "\""):
            value = token + 1
            valueCount = try stringCount(value, before: after)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            return try fieldInParts(keyStart, keyCount, depth: depth)
        default:
            value = token
            valueCount = try scalarCount(token, before: after)
        }

        // Nearly all fields: no escape, no reserved name, so all lengths are known beforehand.
        let size = 3 + keyCount + Varint.size(valueCount) + valueCount
        guard keyCount > 0, keyCount <= limits.keyBytes, keyCount < 0x80,
            valueCount <= limits.valueBytes, text[keyStart] != UInt8(ascii: "_")
        else { return try fieldInParts(keyStart, keyCount, depth: depth) }
        let content = memory.start + length
        content[0] = LogTag.contents
        let key = Varint.write(size, to: content + 1) + 2
        key[-2] = PairTag.key
        key[-1] = UInt8(truncatingIfNeeded: keyCount)
        var escapes = copyWords(text + keyStart, keyCount, to: key)
        key[keyCount] = PairTag.value
        let place = Varint.write(valueCount, to: key + keyCount + 1)
        escapes |= copyWords(text + value, valueCount, to: place)
        guard escapes == 0 else { return try fieldInParts(keyStart, keyCount, depth: depth) }
        names.add(key, keyCount, content: length, in: memory.start)
        length = place - memory.start + valueCount
        next += 3
    }

    /// Any field: key and value are written with room before them, then moved together.
    private mutating func fieldInParts(
        _ keyStart: Int,
        _ keyCount: Int,
        depth: Int
    ) throws(JSONFault) {
        var key = length + Self.keyRoom
        var count = try unescape(keyStart, keyCount, to: key)
        guard count > 0 else { throw fault(.keyEmpty) }
        guard count <= limits.keyBytes else { throw fault(.keyTooLong(limits.keyBytes)) }
        let reserved = ReservedKey(UnsafeBufferPointer(start: memory.start + key, count: count))
        let valueRoom = key + count + Self.valueRoom
        next += 2
        let token = next
        let (valueCount, kind) = try value(to: valueRoom, depth: depth)
        guard valueCount <= limits.valueBytes else {
            throw JSONFault(.valueTooLong(limits.valueBytes), at: Int(tokens[token]))
        }
        if let reserved {
            if reserved == .time {
                if try takeTime(valueRoom, valueCount, kind, at: Int(tokens[token])) { return }
            }
            key -= ReservedKey.prefix.count
            count += ReservedKey.prefix.count
            for (offset, byte) in ReservedKey.prefix.enumerated() {
                memory.start[key + offset] = byte
            }
        }
        close(key: key, count, value: valueRoom, valueCount)
    }

    /// Room before a key for the field's tag, length and key length, and the prefix of a reserved one.
    private static let keyRoom = 24
    /// Room before a value for its tag and length.
    private static let valueRoom = 8

    private mutating func close(key: Int, _ keyCount: Int, value: Int, _ valueCount: Int) {
        let size =
            2 + Varint.size(keyCount) + keyCount + Varint.size(valueCount) + valueCount
        let start = memory.start
        var place = start + length
        place.pointee = LogTag.contents
        place = Varint.write(size, to: place + 1)
        place.pointee = PairTag.key
        place = Varint.write(keyCount, to: place + 1)
        let keyPlace = place
        place.update(from: start + key, count: keyCount)
        place += keyCount
        place.pointee = PairTag.value
        place = Varint.write(valueCount, to: place + 1)
        place.update(from: start + value, count: valueCount)
        names.add(keyPlace, keyCount, content: length, in: start)
        length = place - start + valueCount
    }

    /// What is wrong with a field that lacks one of its four tokens.
    private func brokenField() -> JSONFault {
        guard next < tokenCount else { return unfinished }
        guard byte == UInt8(ascii: "\"") else { return fault(.keyExpected) }
        guard next + 1 < tokenCount else { return unfinished }
        let colon = Int(tokens[next + 1])
        guard text[colon] == UInt8(ascii: ":") else { return JSONFault(.colonExpected, at: colon) }
        guard next + 2 < tokenCount else { return unfinished }
        let value = Int(tokens[next + 2])
        switch text[value] {
        case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"):
            return JSONFault(.valueExpected, at: value)
        default: return unfinished
        }
    }
}
