/// Why a text is not JSON.
struct JSONProblem: Error, Equatable {
    let position: Int
    let reason: String
}

/// Parses JSON strictly (RFC 8259), for small documents: control requests and web tracking.
struct StrictJSONReader {
    private static let depthMax = 64

    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    static func read(_ bytes: UnsafeRawBufferPointer) throws(JSONProblem) -> JSONValue {
        var reader = StrictJSONReader(bytes: bytes)
        let value = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.position == bytes.count else {
            throw reader.problem("something follows the value")
        }
        return value
    }

    private init(bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    private func problem(_ reason: String) -> JSONProblem {
        JSONProblem(position: position, reason: reason)
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    private mutating func take(_ byte: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: byte) else { return false }
        position += 1
        return true
    }

    private mutating func value(depth: Int) throws(JSONProblem) -> JSONValue {
        guard depth <= Self.depthMax else { throw problem("more than \(Self.depthMax) levels") }
        skipSpace()
        switch next {
        case nil: throw problem("the text ends where a value is expected")
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func object(depth: Int) throws(JSONProblem) -> JSONValue {
        position += 1
        var members: [JSONValue.Member] = []
        skipSpace()
        if take("}") { return .object([]) }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw problem("a member's name is expected") }
            let name = try string()
            skipSpace()
            guard take(":") else { throw problem("a colon is expected") }
            members.append(.init(name: name, value: try value(depth: depth + 1)))
            skipSpace()
        } while take(",")
        guard take("}") else { throw problem("a comma or } is expected") }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(JSONProblem) -> JSONValue {
        position += 1
        var values: [JSONValue] = []
        skipSpace()
        if take("]") { return .array([]) }
        repeat {
            values.append(try value(depth: depth + 1))
            skipSpace()
        } while take(",")
        guard take("]") else { throw problem("a comma or ] is expected") }
        return .array(values)
    }

    private mutating func word(_ word: String, _ value: JSONValue) throws(JSONProblem) -> JSONValue
    {
        guard bytes[position...].starts(with: word.utf8) else {
            throw problem("a value is expected")
        }
        position += word.utf8.count
        return value
    }

    private mutating func number() throws(JSONProblem) -> JSONValue {
        let start = position
        _ = take("-")
        let leadingZero = next == UInt8(ascii: "0")
        let whole = digits()
        guard whole > 0 else {
            position = start
            throw problem("a value is expected")
        }
        guard !leadingZero || whole == 1 else { throw problem("a number begins with 0") }
        if take(".") {
            guard digits() > 0 else { throw problem("a digit is expected") }
        }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            guard digits() > 0 else { throw problem("a digit is expected") }
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let number = Double(text), number.isFinite else {
            throw problem("the number is too large")
        }
        return .number(number)
    }

    private mutating func digits() -> Int {
        let start = position
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
            position += 1
        }
        return position - start
    }

    // MARK: - Strings

    private mutating func string() throws(JSONProblem) -> String {
        position += 1
        var text: [UInt8] = []
        while true {
            let start = position
            while let byte = next, byte >= 0x20, byte != UInt8(ascii: "\""),
                byte != UInt8(ascii: "\\")
            {
                position += 1
            }
            text.append(contentsOf: bytes[start..<position])
            switch next {
            case UInt8(ascii: "\""):
                position += 1
                guard let text = String(validating: text, as: UTF8.self) else {
                    throw problem("a string is not UTF-8")
                }
                return text
            case UInt8(ascii: "\\"): try appendEscape(to: &text)
            case nil: throw problem("a string does not end")
            default: throw problem("a control character must be escaped")
            }
        }
    }

    private mutating func appendEscape(to text: inout [UInt8]) throws(JSONProblem) {
        position += 1
        guard let letter = next else { throw problem("a string does not end") }
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(letter)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            let scalar = try scalar()
            text.append(contentsOf: Array(String(scalar).utf8))
        default: throw problem("there is no such escape")
        }
    }

    /// The scalar of a `\u` escape, or of a surrogate pair of two.
    private mutating func scalar() throws(JSONProblem) -> Unicode.Scalar {
        let first = try codeUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, take("\\"), take("u") else { throw problem("half a surrogate pair") }
        let second = try codeUnit()
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw problem("half a surrogate pair") }
        return scalar
    }

    private mutating func codeUnit() throws(JSONProblem) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = next?.hexDigit else {
                throw problem("four hexadecimal digits are expected")
            }
            unit = unit << 4 | UInt32(digit)
            position += 1
        }
        return unit
    }
}
