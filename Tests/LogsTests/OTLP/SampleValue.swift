@testable import Logs

/// An AnyValue as tests have it, and its two encodings.
enum SampleValue: Sendable {
    case empty
    case string(String)
    case boolean(Bool)
    case integer(Int64)
    /// And how it is shown.
    case double(Double, String)
    case array([SampleValue])
    case pairs([(String, SampleValue)])
    case bytes([UInt8], base64: String)

    var protobuf: [UInt8] {
        switch self {
        case .empty: []
        case .string(let text): Wire.bytes(1, Array(text.utf8))
        case .boolean(let isTrue): Wire.number(2, isTrue ? 1 : 0)
        case .integer(let number): Wire.number(3, UInt64(bitPattern: number))
        case .double(let number, _): Wire.fixed64(4, number.bitPattern)
        case .array(let values): Wire.bytes(5, values.flatMap { Wire.bytes(1, $0.protobuf) })
        case .pairs(let pairs): Wire.bytes(6, Self.protobuf(pairs, field: 1))
        case .bytes(let content, _): Wire.bytes(7, content)
        }
    }

    static func protobuf(_ pairs: [(String, SampleValue)], field: UInt64) -> [UInt8] {
        pairs.flatMap { name, value in
            Wire.bytes(field, Wire.bytes(1, Array(name.utf8)) + Wire.bytes(2, value.protobuf))
        }
    }

    var json: String {
        switch self {
        case .empty: "{}"
        case .string(let text): #"{"stringValue":\#(quoted(text))}"#
        case .boolean(let isTrue): #"{"boolValue":\#(isTrue)}"#
        case .integer(let number): #"{"intValue":"\#(number)"}"#
        case .double(let number, let shown):
            #"{"doubleValue":\#(number.isFinite ? shown : quoted(shown))}"#
        case .array(let values): #"{"arrayValue":{"values":[\#(Self.list(values))]}}"#
        case .pairs(let pairs): #"{"kvlistValue":{"values":\#(Self.json(pairs))}}"#
        case .bytes(_, let base64): #"{"bytesValue":"\#(base64)"}"#
        }
    }

    private static func list(_ values: [SampleValue]) -> String {
        values.map(\.json).joined(separator: ",")
    }

    static func json(_ pairs: [(String, SampleValue)]) -> String {
        let list = pairs.map { #"{"key":\#(quoted($0)),"value":\#($1.json)}"# }
        return "[\(list.joined(separator: ","))]"
    }

    /// As part of a JSON object.
    var shown: String {
        switch self {
        case .empty: "null"
        case .string(let text): quoted(text)
        case .boolean(let isTrue): "\(isTrue)"
        case .integer(let number): "\(number)"
        case .double(let number, let shown): number.isFinite ? shown : quoted(shown)
        case .array(let values): "[\(values.map(\.shown).joined(separator: ","))]"
        case .pairs(let pairs): Self.shown(pairs)
        case .bytes(_, let base64): quoted(base64)
        }
    }

    static func shown(_ pairs: [(String, SampleValue)]) -> String {
        "{\(pairs.map { "\(quoted($0)):\($1.shown)" }.joined(separator: ","))}"
    }

    /// As a field.
    var text: String {
        switch self {
        case .empty: ""
        case .string(let text): text
        case .double(_, let shown): shown
        case .bytes(_, let base64): base64
        default: shown
        }
    }
}

/// The shortest JSON string.
func quoted(_ text: String) -> String {
    let short: [Unicode.Scalar: String] = [
        "\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\u{8}": "\\b",
        "\u{C}": "\\f",
    ]
    let escaped = text.unicodeScalars.map { scalar in
        let hex = String(scalar.value, radix: 16)
        return short[scalar]
            ?? (scalar.value < 0x20
                ? "\\u" + String(repeating: "0", count: 4 - hex.count) + hex : String(scalar))
    }
    return "\"\(escaped.joined())\""
}

extension Wire {
    static func fixed64(_ field: UInt64, _ value: UInt64) -> [UInt8] {
        varint(field << 3 | 1) + withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }
}
