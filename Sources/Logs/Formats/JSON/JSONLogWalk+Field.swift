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
            valueCount <= limits.valueBytes, text[keyStart] != UInt8(ascii: "_"),
            keyCount != timeField.count
        else { return try fieldInParts(keyStart, keyCount, depth: depth) }
        let content = writer.memory.start + writer.length
        content[0] = LogTag.contents
        let key = Varint.write(size, to: content + 1) + 2
        key[-2] = PairTag.key
        key[-1] = UInt8(truncatingIfNeeded: keyCount)
        var escapes = copyWords(text + keyStart, keyCount, to: key)
        key[keyCount] = PairTag.value
        let place = Varint.write(valueCount, to: key + keyCount + 1)
        escapes |= copyWords(text + value, valueCount, to: place)
        guard escapes == 0 else { return try fieldInParts(keyStart, keyCount, depth: depth) }
        writer.names.add(key, keyCount, content: writer.length, in: writer.memory.start)
        writer.length = place - writer.memory.start + valueCount
        next += 3
    }

    /// Any field.
    private mutating func fieldInParts(
        _ keyStart: Int,
        _ keyCount: Int,
        depth: Int
    ) throws(JSONFault) {
        let count = try unescape(keyStart, keyCount, to: writer.nameOffset)
        let name = timeField.renaming(writer.memory.start + writer.nameOffset, count)
        let field = writer.openField(nameBytes: name)
        next += 2
        let token = next
        let (valueCount, kind) = try value(to: field.value, depth: depth)
        if field.reserved == .time, takesTimes {
            let position = Int(tokens[token])
            if try takeTime(field.value, valueCount, kind, at: position) { return }
        } else if takesTimeParts, takeTimePart(of: field, valueCount) {
            return
        }
        writer.close(field, valueBytes: valueCount)
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
