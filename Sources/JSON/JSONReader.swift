import System

/// Reads a small JSON text token by token (RFC 8259), such as error bodies and credentials of a few
/// kilobytes. `JSONValue` reads one as a tree. Logs go through simdjson.
package struct JSONReader {
    private let bytes: [UInt8]
    private var position = 0

    /// Deeper than any answer of SLS, and shallow enough for any stack.
    package static let depthMax = 16

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return position == bytes.count
        }
    }

    /// An error at the present position.
    package func problem(_ reason: String) -> JSONProblem {
        JSONProblem(position: position, reason: reason)
    }

    /// Consumes the punctuation if it comes next.
    package mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else {
            return false
        }
        position += 1
        return true
    }

    /// True if a string comes next.
    package var isAtString: Bool {
        mutating get {
            skipSpace()
            return position < bytes.count && bytes[position] == UInt8(ascii: "\"")
        }
    }

    package mutating func takeNull() -> Bool {
        skipSpace()
        return take(exactly: "null")
    }

    package mutating func string() -> String? {
        stringBytes().flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The unescaped string as bytes, so that the reader of a secret can wipe it.
    package mutating func stringBytes() -> [UInt8]? {
        guard take("\"") else { return nil }
        var text: [UInt8] = []
        // Growing would leave copies of a secret; no escape is longer unescaped than written.
        text.reserveCapacity(lengthOfString)
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return text
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else { return nil }
                text += Array(String(scalar).utf8)
            case 0..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    /// The string's length as written, up to its closing quote or the end of the text.
    private var lengthOfString: Int {
        var end = position
        while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
            end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(end, bytes.count) - position
    }

    /// Reads a number without sign, fraction or exponent; leaves anything else unread.
    package mutating func wholeNumber() -> Int? {
        skipSpace()
        let digits = bytes[position...].prefix { (0x30...0x39).contains($0) }
        let next = position + digits.count < bytes.count ? bytes[position + digits.count] : 0
        guard let number = Int(String(decoding: digits, as: UTF8.self)),
            ![UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E")].contains(next)
        else { return nil }
        position += digits.count
        return number
    }

    /// Reads an object: `member` reads the value of each name. False when it is no such object.
    package mutating func members(_ member: (String, inout JSONReader) -> Bool) -> Bool {
        guard take("{") else { return false }
        var isFirst = true
        while !take("}") {
            guard isFirst || take(","), let name = string(), take(":"), member(name, &self) else {
                return false
            }
            isFirst = false
        }
        return true
    }

    /// Reads an array: `element` reads each of its values. False when it is no such array.
    package mutating func elements(_ element: (inout JSONReader) -> Bool) -> Bool {
        guard take("[") else { return false }
        var isFirst = true
        while !take("]") {
            guard isFirst || take(","), element(&self) else { return false }
            isFirst = false
        }
        return true
    }

    /// Skips a value of any kind.
    package mutating func skipValue(depth: Int = 0) -> Bool {
        guard depth < Self.depthMax else { return false }
        if take("{") { return skipMembers(until: "}", named: true, depth: depth) }
        if take("[") { return skipMembers(until: "]", named: false, depth: depth) }
        if position < bytes.count, bytes[position] == UInt8(ascii: "\"") { return string() != nil }
        return skipLiteral()
    }

    private mutating func skipMembers(until end: Unicode.Scalar, named: Bool, depth: Int) -> Bool {
        var isFirst = true
        while !take(end) {
            guard isFirst || take(",") else { return false }
            isFirst = false
            if named { guard string() != nil, take(":") else { return false } }
            guard skipValue(depth: depth + 1) else { return false }
        }
        return true
    }

    /// A value of any kind as written.
    package mutating func value(depthMax: Int = depthMax) -> ArraySlice<UInt8>? {
        skipSpace()
        let start = position
        return skipValue(depth: Self.depthMax - depthMax) ? bytes[start..<position] : nil
    }

    /// The number, true, false or null as written.
    package mutating func literal() -> String? {
        skipSpace()
        let start = position
        guard skipLiteral() else { return nil }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        let isWord = ["true", "false", "null"].contains(text)
        return isWord || Self.isNumber(bytes[start..<position]) ? text : nil
    }

    /// Checks the syntax of a number (RFC 8259 section 6).
    private static func isNumber(_ text: ArraySlice<UInt8>) -> Bool {
        var rest = text
        func digits() -> Int {
            let count = rest.prefix { (0x30...0x39).contains($0) }.count
            rest.removeFirst(count)
            return count
        }
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        let startsWithZero = rest.first == UInt8(ascii: "0")
        let whole = digits()
        guard whole == 1 || whole > 1 && !startsWithZero else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            guard digits() > 0 else { return false }
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest.removeFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") {
                rest.removeFirst()
            }
            guard digits() > 0 else { return false }
        }
        return rest.isEmpty
    }

    /// Skips a number, true, false or null without checking its syntax.
    private mutating func skipLiteral() -> Bool {
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "E"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                position += 1
            default: return position > start
            }
        }
        return position > start
    }

    private mutating func escape() -> Unicode.Scalar? {
        guard position < bytes.count else { return nil }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return unicodeEscape()
        default: return nil
        }
    }

    private mutating func unicodeEscape() -> Unicode.Scalar? {
        guard let unit = codeUnit() else { return nil }
        guard (0xD800...0xDBFF).contains(unit) else { return Unicode.Scalar(unit) }
        guard take(exactly: "\\u"), let low = codeUnit(), (0xDC00...0xDFFF).contains(low) else {
            return nil
        }
        return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
    }

    private mutating func codeUnit() -> UInt32? {
        guard position + 4 <= bytes.count else { return nil }
        var unit: UInt32 = 0
        for byte in bytes[position..<position + 4] {
            guard let digit = hexValue(byte) else { return nil }
            unit = unit << 4 | UInt32(digit)
        }
        position += 4
        return unit
    }

    private mutating func take(exactly text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) {
            position += 1
        }
    }
}
