extension JSONLogWalk {
    /// Writes the object or array that comes next as JSON text without white space, at an offset of
    /// the memory. Strings keep their escapes, numbers their digits; both are checked like any other.
    ///
    /// Without recursion: whether the open containers are objects is one bit each, so 64 are the most.
    mutating func compact(to offset: Int, depth outer: Int) throws(JSONFault) -> Int {
        var place = writer.memory.start + offset
        var objects: UInt64 = 0
        var depth = 0
        let deepest = min(limits.depth, 64) - outer
        var needsKey = false
        while true {
            guard next < tokenCount else { throw unfinished }
            if needsKey {
                guard byte == UInt8(ascii: "\"") else { throw fault(.keyExpected) }
                try copyString(to: &place)
                guard next < tokenCount else { throw unfinished }
                guard byte == UInt8(ascii: ":") else { throw fault(.colonExpected) }
                next += 1
                place.pointee = UInt8(ascii: ":")
                place += 1
                guard next < tokenCount else { throw unfinished }
            }
            let first = byte
            switch first {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < deepest else { throw fault(.tooDeep(min(limits.depth, 64))) }
                depth += 1
                let isObject = first == UInt8(ascii: "{")
                objects = objects << 1 | (isObject ? 1 : 0)
                place.pointee = first
                place += 1
                next += 1
                guard next < tokenCount else { throw unfinished }
                // An opening bracket and its closing one differ by two.
                if byte != first + 2 {
                    needsKey = isObject
                    continue
                }
            case UInt8(ascii: "\""): try copyString(to: &place)
            default: try copyScalar(to: &place)
            }
            // A value is complete. Close what ends here.
            while true {
                guard depth > 0 else { return place - writer.memory.start - offset }
                guard next < tokenCount else { throw unfinished }
                let separator = byte
                let inObject = objects & 1 == 1
                if separator == UInt8(ascii: ",") {
                    next += 1
                    place.pointee = separator
                    place += 1
                    needsKey = inObject
                    break
                }
                guard separator == UInt8(ascii: inObject ? "}" : "]") else {
                    throw fault(inObject ? .objectEndExpected : .arrayEndExpected)
                }
                next += 1
                place.pointee = separator
                place += 1
                objects >>= 1
                depth -= 1
            }
        }
    }

    private mutating func copyString(
        to place: inout UnsafeMutablePointer<UInt8>
    ) throws(JSONFault) {
        let start = Int(tokens[next]) + 1
        let count = try stringCount(start, before: Int(tokens[next + 1]))
        place.pointee = UInt8(ascii: "\"")
        if copyWords(text + start, count, to: place + 1) != 0 {
            // Unescaping checks the escapes; the text itself is then put over what it wrote.
            _ = try unescape(start, count, to: place + 1 - writer.memory.start)
            (place + 1).update(from: text + start, count: count)
        }
        place += count + 1
        place.pointee = UInt8(ascii: "\"")
        place += 1
        next += 1
    }

    private mutating func copyScalar(
        to place: inout UnsafeMutablePointer<UInt8>
    ) throws(JSONFault) {
        let token = Int(tokens[next])
        guard next + 1 < tokenCount else { throw unfinished }
        var count = try scalarCount(token, before: Int(tokens[next + 1]))
        if count == 0 { count = 4 }  // null
        _ = copyWords(text + token, count, to: place)
        place += count
        next += 1
    }
}
