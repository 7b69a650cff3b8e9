/// What a value was in the text.
enum JSONKind {
    case string, number, boolean, null, nested
}

extension JSONLogWalk {
    /// Writes the text of the next value at an offset of the memory, and reads up to the token after
    /// it, of which there is one then. Strings come unescaped, null as nothing.
    mutating func value(
        to offset: Int,
        depth: Int
    ) throws(JSONFault) -> (count: Int, kind: JSONKind) {
        guard next + 1 < tokenCount else { throw next < tokenCount ? lastValue() : unfinished }
        let token = Int(tokens[next])
        let after = Int(tokens[next + 1])
        let first = text[token]
        switch first {
        case UInt8(ascii: "\""):
            let count = try stringCount(token + 1, before: after)
            let written = try unescape(token + 1, count, to: offset)
            next += 1
            return (written, .string)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            let count = try compact(to: offset, depth: depth)
            guard next < tokenCount else { throw unfinished }
            return (count, .nested)
        default:
            let count = try scalarCount(token, before: after)
            _ = copyWords(text + token, count, to: writer.memory.start + offset)
            next += 1
            switch first {
            case UInt8(ascii: "t"), UInt8(ascii: "f"): return (count, .boolean)
            case UInt8(ascii: "n"): return (count, .null)
            default: return (count, .number)
            }
        }
    }

    /// The text ends with this token: it may be wrong by itself, too.
    private func lastValue() -> JSONFault {
        switch byte {
        case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"):
            fault(.valueExpected)
        default: unfinished
        }
    }

    /// The bytes of a string: between its closing quote and the next token lies only white space.
    @inline(__always)
    func stringCount(_ start: Int, before after: Int) throws(JSONFault) -> Int {
        var last = after - 1
        while isWhiteSpace(text[last]) { last -= 1 }
        guard last >= start, text[last] == UInt8(ascii: "\"") else {
            throw JSONFault(.unclosedString, at: start - 1)
        }
        return last - start
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
        var place = token
        if text[place] == UInt8(ascii: "-") { place += 1 }
        if text[place] == UInt8(ascii: "0") {
            place += 1
        } else {
            try skipDigits(&place, of: token)
        }
        if text[place] == UInt8(ascii: ".") {
            place += 1
            try skipDigits(&place, of: token)
        }
        if text[place] | 0x20 == UInt8(ascii: "e") {
            place += 1
            if text[place] == UInt8(ascii: "+") || text[place] == UInt8(ascii: "-") { place += 1 }
            try skipDigits(&place, of: token)
        }
        guard endsToken(place, after) else { throw JSONFault(.badNumber, at: token) }
        return place - token
    }

    /// One digit at least. A number is always followed by another token, so this ends in the text.
    @inline(__always)
    private func skipDigits(_ place: inout Int, of token: Int) throws(JSONFault) {
        let start = place
        while text[place] &- UInt8(ascii: "0") < 10 { place += 1 }
        guard place > start else { throw JSONFault(.badNumber, at: token) }
    }

    /// Whether a scalar may end here. After white space comes nothing but the next token.
    @inline(__always)
    private func endsToken(_ place: Int, _ after: Int) -> Bool {
        place == after || (place < after && isWhiteSpace(text[place]))
    }

    @inline(__always)
    func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte <= 0x20 && (byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09)
    }
}
