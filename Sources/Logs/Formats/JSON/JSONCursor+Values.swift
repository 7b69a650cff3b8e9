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
            if needsKey { try copyKey(to: &out) }
            let first = byte
            switch first {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < deepest else { throw fault(.tooDeep(depthMax)) }
                depth += 1
                let isObject = first == UInt8(ascii: "{")
                objects = objects << 1 | (isObject ? 1 : 0)
                copyMark(to: &out)
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
                    copyMark(to: &out)
                    needsKey = inObject
                    break
                }
                guard separator == UInt8(ascii: inObject ? "}" : "]") else {
                    throw fault(inObject ? .objectEndExpected : .arrayEndExpected)
                }
                copyMark(to: &out)
                objects >>= 1
                depth -= 1
            }
        }
    }

    /// Copies a name and the colon behind it, and goes to the value.
    @inline(__always)
    private mutating func copyKey(
        to out: inout UnsafeMutablePointer<UInt8>
    ) throws(JSONFault) {
        guard byte == UInt8(ascii: "\"") else { throw fault(.keyExpected) }
        try copyString(to: &out)
        try expectToken()
        guard byte == UInt8(ascii: ":") else { throw fault(.colonExpected) }
        copyMark(to: &out)
        try expectToken()
    }

    /// Copies a bracket, a colon or a comma.
    @inline(__always)
    private mutating func copyMark(to out: inout UnsafeMutablePointer<UInt8>) {
        out.pointee = byte
        out += 1
        skip()
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

private let backslashes: UInt64 = 0x5C5C_5C5C_5C5C_5C5C
private let lowBits: UInt64 = 0x0101_0101_0101_0101
private let highBits: UInt64 = 0x8080_8080_8080_8080

/// The high bit of each byte that is a backslash; the lowest set bit is exact.
@inline(__always)
private func backslashBits(_ word: UInt64) -> UInt64 {
    let difference = word ^ backslashes
    return (difference &- lowBits) & ~difference & highBits
}

/// Copies in steps of sixteen bytes. The result is not zero when a backslash is among them. Reads
/// and writes up to fifteen bytes too many; a backslash in those counts, too.
@inline(__always)
func copyWords(
    _ source: UnsafePointer<UInt8>,
    _ count: Int,
    to out: UnsafeMutablePointer<UInt8>
) -> UInt64 {
    let backslash = SIMD16<UInt8>(repeating: UInt8(ascii: "\\"))
    var found = SIMD16<Int8>()
    var offset = 0
    while offset < count {
        let bytes = UnsafeRawPointer(source + offset).loadUnaligned(as: SIMD16<UInt8>.self)
        UnsafeMutableRawPointer(out + offset).storeBytes(of: bytes, as: SIMD16<UInt8>.self)
        found.replace(with: -1, where: bytes .== backslash)
        offset &+= 16
    }
    let halves = unsafeBitCast(found, to: SIMD2<UInt64>.self)
    return halves.x | halves.y
}

extension JSONCursor {
    /// The next string, as it stands in the text.
    mutating func string() throws(JSONFault) -> Range<Int> {
        try expectToken(ahead: 1)
        guard byte == UInt8(ascii: "\"") else { throw fault(.stringExpected) }
        let start = position + 1
        let count = try stringCount(start, before: position(ahead: 1))
        skip()
        return start..<start + count
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

    @inline(__always)
    func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte <= 0x20 && (byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09)
    }

    /// Writes a string's content to memory and returns its size, which is at most that of its
    /// text. Up to seven bytes behind it are overwritten.
    func unescape(
        _ start: Int,
        _ count: Int,
        to first: UnsafeMutablePointer<UInt8>
    ) throws(JSONFault) -> Int {
        let end = start + count
        var source = start
        var out = first
        while source < end {
            let word = UnsafeRawPointer(text + source).loadUnaligned(as: UInt64.self)
            UnsafeMutableRawPointer(out).storeBytes(of: word, as: UInt64.self)
            let found = backslashBits(UInt64(littleEndian: word))
            let plain = found == 0 ? 8 : found.trailingZeroBitCount >> 3
            guard plain < end - source else {
                out += end - source
                break
            }
            source += plain
            out += plain
            if found != 0 { try escape(&source, end, &out) }
        }
        return out - first
    }

    /// RFC 8259, section 7.
    @inline(__always)
    private func escape(
        _ source: inout Int,
        _ end: Int,
        _ out: inout UnsafeMutablePointer<UInt8>
    ) throws(JSONFault) {
        let letter = source + 1 < end ? text[source + 1] : 0
        let byte: UInt8
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): byte = letter
        case UInt8(ascii: "n"): byte = 0x0A
        case UInt8(ascii: "t"): byte = 0x09
        case UInt8(ascii: "r"): byte = 0x0D
        case UInt8(ascii: "b"): byte = 0x08
        case UInt8(ascii: "f"): byte = 0x0C
        case UInt8(ascii: "u"):
            let scalar = try unicodeEscape(&source, end)
            out = write(scalar, to: out)
            return
        default: throw JSONFault(.badEscape, at: source)
        }
        out.pointee = byte
        out += 1
        source += 2
    }

    /// One `\uXXXX`, or two that are a surrogate pair. Half of a pair, which a program writes that
    /// cut a text within an emoji, is U+FFFD as it is in browsers: its sender hardly ever reads why
    /// logs were refused.
    private func unicodeEscape(_ source: inout Int, _ end: Int) throws(JSONFault) -> UInt32 {
        guard let unit = hexUnit(source + 2, end) else { throw JSONFault(.badEscape, at: source) }
        source += 6
        guard 0xD800...0xDFFF ~= unit else { return unit }
        guard unit < 0xDC00, source + 1 < end, text[source] == UInt8(ascii: "\\"),
            text[source + 1] == UInt8(ascii: "u")
        else { return 0xFFFD }
        guard let low = hexUnit(source + 2, end) else { throw JSONFault(.badEscape, at: source) }
        guard 0xDC00...0xDFFF ~= low else { return 0xFFFD }
        source += 6
        return 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
    }

    private func hexUnit(_ start: Int, _ end: Int) -> UInt32? {
        guard start + 4 <= end else { return nil }
        var unit: UInt32 = 0
        for position in start..<start + 4 {
            let digit: UInt8
            switch text[position] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = text[position] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"):
                digit = text[position] - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"):
                digit = text[position] - UInt8(ascii: "A") + 10
            default: return nil
            }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }

    private func write(
        _ scalar: UInt32,
        to out: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutablePointer<UInt8> {
        func tail(_ shift: UInt32) -> UInt8 { 0x80 | UInt8(scalar >> shift & 0x3F) }
        switch scalar {
        case ..<0x80:
            out[0] = UInt8(scalar)
            return out + 1
        case ..<0x800:
            out[0] = 0xC0 | UInt8(scalar >> 6)
            out[1] = tail(0)
            return out + 2
        case ..<0x10000:
            out[0] = 0xE0 | UInt8(scalar >> 12)
            out[1] = tail(6)
            out[2] = tail(0)
            return out + 3
        default:
            out[0] = 0xF0 | UInt8(scalar >> 18)
            out[1] = tail(12)
            out[2] = tail(6)
            out[3] = tail(0)
            return out + 4
        }
    }
}
