extension JSONLogWalk {
    /// Reads a field up to the token after it, of which there is one then.
    mutating func field(depth: Int) throws(JSONFault) {
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
        let isNameTooLong = count > limits.keyBytes
        if count == 0 || isNameTooLong { count = storableName(key, count) }
        let reserved = ReservedKey(UnsafeBufferPointer(start: memory.start + key, count: count))
        let valueRoom = key + count + Self.valueRoom
        next += 2
        let token = next
        var (valueCount, kind) = try value(to: valueRoom, depth: depth)
        if let reserved {
            if reserved == .time {
                if try takeTime(valueRoom, valueCount, kind, at: Int(tokens[token])) { return }
            }
            let name = UnsafeBufferPointer(start: memory.start + key, count: count)
            let stored = reserved.stored(name)
            key += count - stored.count
            count = stored.count
            _ = UnsafeMutableBufferPointer(start: memory.start + key, count: count)
                .update(fromContentsOf: stored)
        }
        if valueCount > limits.valueBytes {
            remarks.addOversized(.value, at: length)
            valueCount = storableValue(valueRoom, valueCount)
        } else if isNameTooLong {
            remarks.addOversized(.name, at: length)
        }
        close(key: key, count, value: valueRoom, valueCount)
    }

    /// Room before a key for the field's tag, length and key length, and what a reserved one becomes.
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
