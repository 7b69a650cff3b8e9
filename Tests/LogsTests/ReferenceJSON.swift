@testable import Logs

/// A second reading of what `decodePlain` accepts, written to be obvious: recursive, slow, and
/// without a line in common with the decoder but the reading of times.
struct ReferenceJSON {
    struct Refused: Error {}

    indirect enum Value {
        case string(text: String, source: String)
        case other(String)
        case null
        case array([Value])
        case object([(key: (text: String, source: String), value: Value)])
    }

    private let body: [UInt8]
    private var place = 0

    static func logs(_ body: [UInt8]) throws -> [Read] {
        guard String(validating: body, as: UTF8.self) != nil else { throw Refused() }
        var parser = ReferenceJSON(
            body: body.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(body[3...]) : body
        )
        var values: [Value] = []
        parser.skipSpace()
        guard parser.place < parser.body.count else { throw Refused() }
        while parser.place < parser.body.count {
            switch try parser.value(depth: 1) {
            case .array(let logs): values += logs
            case let value: values.append(value)
            }
            parser.skipSpace()
        }
        return try values.map(log)
    }

    private init(body: [UInt8]) { self.body = body }

    private static func log(_ value: Value) throws -> Read {
        guard case .object(let members) = value else { throw Refused() }
        var fields: [[String]] = []
        var log = Read([])
        for (key, value) in members {
            var name = storableName(key.text, bytesMax: 128)
            if name == "__time__" {
                // Times have tests of their own.
                let text: String
                switch value {
                case .string(let string, _): text = string
                case .other(let other) where other != "true" && other != "false": text = other
                default: throw Refused()
                }
                guard case .time(let time) = TimeReading(text) else { throw Refused() }
                (log.seconds, log.nanoseconds) = (time.seconds, time.nanoseconds)
                continue
            }
            if ["__source__", "__topic__", "__partition_time__"].contains(name) {
                name = "field" + name
            }
            let text =
                switch value {
                case .null: ""
                case .string(let text, _): text
                default: compact(value)
                }
            fields.removeAll { Array($0[0].utf8) == Array(name.utf8) }
            fields.append([name, text])
        }
        log.fields = fields
        return log
    }

    private static func compact(_ value: Value) -> String {
        switch value {
        case .string(_, let source): source
        case .other(let text): text
        case .null: "null"
        case .array(let values): "[" + values.map(compact).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { $0.key.source + ":" + compact($0.value) }.joined(separator: ",")
                + "}"
        }
    }

    private mutating func skipSpace() {
        while place < body.count, [0x20, 0x09, 0x0A, 0x0D].contains(body[place]) { place += 1 }
    }

    private mutating func take(_ character: Character) -> Bool {
        guard place < body.count, body[place] == character.asciiValue else { return false }
        place += 1
        return true
    }

    private mutating func value(depth: Int) throws -> Value {
        skipSpace()
        guard place < body.count else { throw Refused() }
        switch body[place] {
        case UInt8(ascii: "{"):
            guard depth <= 64 else { throw Refused() }
            return try object(depth: depth)
        case UInt8(ascii: "["):
            guard depth <= 64 else { throw Refused() }
            return try array(depth: depth)
        case UInt8(ascii: "\""):
            let (text, source) = try string()
            return .string(text: text, source: source)
        default:
            let start = place
            while place < body.count, !Array("{}[]:,\" \t\n\r".utf8).contains(body[place]) {
                place += 1
            }
            let text = String(decoding: body[start..<place], as: UTF8.self)
            if text == "null" { return .null }
            guard text == "true" || text == "false" || Self.isNumber(text) else { throw Refused() }
            // Nothing but a separator may touch a scalar.
            guard place == body.count || body[place] != UInt8(ascii: "\"") else { throw Refused() }
            return .other(text)
        }
    }

    private static func isNumber(_ text: String) -> Bool {
        let parts = text.split(maxSplits: 1, omittingEmptySubsequences: false) { "eE".contains($0) }
        if parts.count == 2 {
            let power = "+-".contains(parts[1].first ?? "0") ? parts[1].dropFirst() : parts[1]
            guard isDigits(power) else { return false }
        }
        let signed = parts[0].hasPrefix("-") ? parts[0].dropFirst() : parts[0]
        let halves = signed.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.allSatisfy(isDigits) else { return false }
        return halves[0] == "0" || !halves[0].hasPrefix("0")
    }

    private static func isDigits(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { 0x30...0x39 ~= $0 }
    }

    private mutating func object(depth: Int) throws -> Value {
        place += 1
        var members: [(key: (text: String, source: String), value: Value)] = []
        skipSpace()
        if take("}") { return .object([]) }
        while true {
            skipSpace()
            guard place < body.count, body[place] == UInt8(ascii: "\"") else { throw Refused() }
            let key = try string()
            skipSpace()
            guard take(":") else { throw Refused() }
            members.append((key, try value(depth: depth + 1)))
            skipSpace()
            if take("}") { return .object(members) }
            guard take(",") else { throw Refused() }
        }
    }

    private mutating func array(depth: Int) throws -> Value {
        place += 1
        var values: [Value] = []
        skipSpace()
        if take("]") { return .array([]) }
        while true {
            values.append(try value(depth: depth + 1))
            skipSpace()
            if take("]") { return .array(values) }
            guard take(",") else { throw Refused() }
        }
    }

    private mutating func string() throws -> (text: String, source: String) {
        let start = place
        place += 1
        var units: [UInt16] = []
        var plain: [UInt8] = []
        func flushed() -> [UInt16] { Array(String(decoding: plain, as: UTF8.self).utf16) }
        while place < body.count {
            let byte = body[place]
            place += 1
            switch byte {
            case UInt8(ascii: "\""):
                units += flushed()
                // Half of a surrogate pair becomes U+FFFD.
                return (
                    String(decoding: units, as: UTF16.self),
                    String(decoding: body[start..<place], as: UTF8.self)
                )
            case ..<0x20: throw Refused()
            case UInt8(ascii: "\\"):
                units += flushed()
                plain = []
                units.append(try escape())
            default: plain.append(byte)
            }
        }
        throw Refused()
    }

    private mutating func escape() throws -> UInt16 {
        guard place < body.count else { throw Refused() }
        let letter = body[place]
        place += 1
        let simple: [UInt8: UInt16] = [
            0x22: 0x22, 0x5C: 0x5C, 0x2F: 0x2F, 0x62: 8, 0x66: 12, 0x6E: 10, 0x72: 13, 0x74: 9,
        ]
        if let unit = simple[letter] { return unit }
        guard letter == UInt8(ascii: "u"), place + 4 <= body.count else { throw Refused() }
        let digits = String(decoding: body[place..<place + 4], as: UTF8.self)
        guard digits.allSatisfy(\.isHexDigit), let unit = UInt16(digits, radix: 16) else {
            throw Refused()
        }
        place += 4
        return unit
    }
}
