/// What a value was in the text.
enum JSONKind {
    case string, number, boolean, null, nested
}

extension JSONCursor {
    /// Writes the text of the next value to memory with room for all that is left of the text. A
    /// value is complete only if a token follows it. Strings come unescaped, null as nothing.
    mutating func value(
        to out: UnsafeMutablePointer<UInt8>,
        depth: Int
    ) throws(JSONFault) -> (count: Int, kind: JSONKind) {
        guard hasToken(ahead: 1) else { throw hasToken() ? lastValue() : unfinished }
        let token = position
        let after = position(ahead: 1)
        let first = text[token]
        switch first {
        case UInt8(ascii: "\""):
            let count = try stringCount(token + 1, before: after)
            let written = try unescape(token + 1, count, to: out)
            skip()
            return (written, .string)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            let count = try compact(to: out, depth: depth)
            try expectToken()
            return (count, .nested)
        default:
            let count = try scalarCount(token, before: after)
            _ = copyWords(text + token, count, to: out)
            skip()
            switch first {
            case UInt8(ascii: "t"), UInt8(ascii: "f"): return (count, .boolean)
            case UInt8(ascii: "n"): return (count, .null)
            default: return (count, .number)
            }
        }
    }

    /// The text ends with this token, which may be wrong by itself, too.
    private func lastValue() -> JSONFault {
        switch byte {
        case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"):
            fault(.valueExpected)
        default: unfinished
        }
    }

    // MARK: - Scalars

    /// Reads a null if it comes next, and returns true then.
    mutating func takeNull() throws(JSONFault) -> Bool {
        try expectToken(ahead: 1)
        guard byte == UInt8(ascii: "n") else { return false }
        _ = try scalar()
        return true
    }

    /// The next number, `true`, `false` or `null` as it stands in the text, where a null is empty.
    mutating func scalar() throws(JSONFault) -> UnsafeBufferPointer<UInt8> {
        try expectToken(ahead: 1)
        let token = position
        let count = try scalarCount(token, before: position(ahead: 1))
        skip()
        return UnsafeBufferPointer(start: text + token, count: count)
    }

    /// The bytes of a number, `true` or `false`; 0 for `null`.
    @inline(__always)
    func scalarCount(_ token: Int, before after: Int) throws(JSONFault) -> Int {
        switch text[token] {
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return try numberCount(token, before: after)
        case UInt8(ascii: "t"):
            guard text[token + 1] == UInt8(ascii: "r"), text[token + 2] == UInt8(ascii: "u"),
                text[token + 3] == UInt8(ascii: "e"), endsToken(token + 4, after)
            else { throw JSONFault(.badLiteral, at: token) }
            return 4
        case UInt8(ascii: "f"):
            guard text[token + 1] == UInt8(ascii: "a"), text[token + 2] == UInt8(ascii: "l"),
                text[token + 3] == UInt8(ascii: "s"), text[token + 4] == UInt8(ascii: "e"),
                endsToken(token + 5, after)
            else { throw JSONFault(.badLiteral, at: token) }
            return 5
        case UInt8(ascii: "n"):
            guard text[token + 1] == UInt8(ascii: "u"), text[token + 2] == UInt8(ascii: "l"),
                text[token + 3] == UInt8(ascii: "l"), endsToken(token + 4, after)
            else { throw JSONFault(.badLiteral, at: token) }
            return 0
        case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"):
            throw JSONFault(.valueExpected, at: token)
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"):
            throw JSONFault(.badLiteral, at: token)
        default: throw JSONFault(.unexpectedCharacter, at: token)
        }
    }

    /// RFC 8259, section 6. The digits are copied, never converted, so size and precision do not
    /// matter.
    @inline(__always)
    private func numberCount(_ token: Int, before after: Int) throws(JSONFault) -> Int {
        let text = text
        var position = token
        if text[position] == UInt8(ascii: "-") { position += 1 }
        if text[position] == UInt8(ascii: "0") {
            position += 1
        } else {
            try skipDigits(&position, of: token)
        }
        if text[position] == UInt8(ascii: ".") {
            position += 1
            try skipDigits(&position, of: token)
        }
        if text[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if text[position] == UInt8(ascii: "+") || text[position] == UInt8(ascii: "-") {
                position += 1
            }
            try skipDigits(&position, of: token)
        }
        guard endsToken(position, after) else { throw JSONFault(.badNumber, at: token) }
        return position - token
    }

    /// One digit at least. Another token follows each number, so this ends inside the text.
    @inline(__always)
    private func skipDigits(_ position: inout Int, of token: Int) throws(JSONFault) {
        let start = position
        while text[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        guard position > start else { throw JSONFault(.badNumber, at: token) }
    }

    /// True when a scalar may end here: behind white space only the next token can follow.
    @inline(__always)
    private func endsToken(_ position: Int, _ after: Int) -> Bool {
        position == after || (position < after && isWhiteSpace(text[position]))
    }

    // MARK: - Nested values

    /// Writes the next object or array as JSON text without white space. Strings keep their
    /// escapes, numbers their digits; both are checked like any other.
    ///
    /// Without recursion: one bit for each open container says if it is an object, so 64 is the
    /// deepest.
    private mutating func compact(
        to start: UnsafeMutablePointer<UInt8>,
        depth outer: Int
    ) throws(JSONFault) -> Int {
        var out = start
        var objects: UInt64 = 0
        var depth = 0
        let deepest = depthMax - outer
        var needsKey = false
        while true {
            try expectToken()
            if needsKey {
                guard byte == UInt8(ascii: "\"") else { throw fault(.keyExpected) }
                try copyString(to: &out)
                try expectToken()
                guard byte == UInt8(ascii: ":") else { throw fault(.colonExpected) }
                skip()
                out.pointee = UInt8(ascii: ":")
                out += 1
                try expectToken()
            }
            let first = byte
            switch first {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < deepest else { throw fault(.tooDeep(depthMax)) }
                depth += 1
                let isObject = first == UInt8(ascii: "{")
                objects = objects << 1 | (isObject ? 1 : 0)
                out.pointee = first
                out += 1
                skip()
                try expectToken()
                // An opening bracket and its closing one differ by two.
                if byte != first + 2 {
                    needsKey = isObject
                    continue
                }
            case UInt8(ascii: "\""): try copyString(to: &out)
            default: try copyScalar(to: &out)
            }
            // A value is complete: close the containers that end here.
            while true {
                guard depth > 0 else { return out - start }
                try expectToken()
                let separator = byte
                let inObject = objects & 1 == 1
                if separator == UInt8(ascii: ",") {
                    skip()
                    out.pointee = separator
                    out += 1
                    needsKey = inObject
                    break
                }
                guard separator == UInt8(ascii: inObject ? "}" : "]") else {
                    throw fault(inObject ? .objectEndExpected : .arrayEndExpected)
                }
                skip()
                out.pointee = separator
                out += 1
                objects >>= 1
                depth -= 1
            }
        }
    }

    private mutating func copyString(
        to out: inout UnsafeMutablePointer<UInt8>
    ) throws(JSONFault) {
        let start = position + 1
        let count = try stringCount(start, before: position(ahead: 1))
        out.pointee = UInt8(ascii: "\"")
        if copyWords(text + start, count, to: out + 1) != 0 {
            // Unescaping checks the escapes. Then the text itself replaces what it wrote.
            _ = try unescape(start, count, to: out + 1)
            (out + 1).update(from: text + start, count: count)
        }
        out += count + 1
        out.pointee = UInt8(ascii: "\"")
        out += 1
        skip()
    }

    private mutating func copyScalar(
        to out: inout UnsafeMutablePointer<UInt8>
    ) throws(JSONFault) {
        let token = position
        var count = try scalar().count
        if count == 0 { count = 4 }  // null
        _ = copyWords(text + token, count, to: out)
        out += count
    }
}
