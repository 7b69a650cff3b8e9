@testable import Logs

/// A request as tests have it, its two encodings, and what it means.
struct SampleRequest {
    struct Record {
        var time: UInt64 = 0
        var observedTime: UInt64 = 0
        var severityNumber = 0
        var severityText = ""
        var body: SampleValue?
        var attributes: [(String, SampleValue)] = []
        var droppedAttributes = 0
        var flags: UInt32 = 0
        var traceID: [UInt8] = []
        var spanID: [UInt8] = []
        var eventName = ""
    }

    struct Scope {
        var name = ""
        var version = ""
        var attributes: [(String, SampleValue)] = []
        var records: [Record] = []
    }

    var resources: [(attributes: [(String, SampleValue)], scopes: [Scope])]

    init(_ resources: [(attributes: [(String, SampleValue)], scopes: [Scope])]) {
        self.resources = resources
    }

    /// One record of a resource and a scope that say nothing.
    init(_ record: Record) { resources = [([], [Scope(records: [record])])] }

    /// A message is its fields; their order is up to its writer.
    func protobuf(order: ([[UInt8]]) -> [[UInt8]] = { $0 }) -> [UInt8] {
        func message(_ fields: [[UInt8]]) -> [UInt8] { order(fields).flatMap { $0 } }
        return resources.flatMap { attributes, scopes in
            let resource = SampleValue.protobuf(attributes, field: 1)
            let logs = scopes.map { scope in
                let header = message([
                    Wire.bytes(1, Array(scope.name.utf8)), Wire.bytes(2, Array(scope.version.utf8)),
                    SampleValue.protobuf(scope.attributes, field: 3),
                ])
                let records = scope.records.flatMap { Wire.bytes(2, message($0.protobuf)) }
                return Wire.bytes(2, message([Wire.bytes(1, header), records]))
            }
            return Wire.bytes(1, message([Wire.bytes(1, resource), logs.flatMap { $0 }]))
        }
    }

    func json(order: ([String]) -> [String] = { $0 }) -> String {
        func object(_ members: [String]) -> String {
            "{\(order(members).joined(separator: ","))}"
        }
        let list = resources.map { attributes, scopes in
            let logs = scopes.map { scope in
                object([
                    #""scope":"#
                        + object([
                            #""name":\#(quoted(scope.name))"#,
                            #""version":\#(quoted(scope.version))"#,
                            #""attributes":\#(SampleValue.json(scope.attributes))"#,
                        ]),
                    #""logRecords":[\#(scope.records.map { object($0.json) }.joined(separator: ","))]"#,
                ])
            }
            return object([
                #""resource":{"attributes":\#(SampleValue.json(attributes))}"#,
                #""scopeLogs":[\#(logs.joined(separator: ","))]"#,
            ])
        }
        return #"{"resourceLogs":[\#(list.joined(separator: ","))]}"#
    }

    /// Without times: those are the writer's.
    var fields: [[[String]]] {
        resources.flatMap { attributes, scopes in
            func own(_ name: String) -> String {
                attributes.last { $0.0 == name }.map(\.1.text) ?? ""
            }
            let others = attributes.filter { !["host.name", "service.name"].contains($0.0) }
            let resource = [
                ["host", own("host.name")], ["service", own("service.name")],
                ["resource", SampleValue.shown(others)],
            ]
            return scopes.flatMap { scope in
                var shared =
                    resource + [["otlp.name", scope.name], ["otlp.version", scope.version]]
                if !scope.attributes.isEmpty {
                    shared.append(["otlp.attribute", SampleValue.shown(scope.attributes)])
                }
                return scope.records.map { shared + $0.fields }
            }
        }
    }
}

extension SampleRequest.Record {
    fileprivate var protobuf: [[UInt8]] {
        [
            Wire.fixed64(1, time), Wire.number(2, UInt64(severityNumber)),
            Wire.bytes(3, Array(severityText.utf8)), body.map { Wire.bytes(5, $0.protobuf) } ?? [],
            SampleValue.protobuf(attributes, field: 6), Wire.number(7, UInt64(droppedAttributes)),
            Wire.fixed32(8, flags), Wire.bytes(9, traceID), Wire.bytes(10, spanID),
            Wire.fixed64(11, observedTime), Wire.bytes(12, Array(eventName.utf8)),
        ]
    }

    fileprivate var json: [String] {
        [
            #""timeUnixNano":"\#(time)""#, #""severityNumber":\#(severityNumber)"#,
            #""severityText":\#(quoted(severityText))"#, #""body":\#(body?.json ?? "null")"#,
            #""attributes":\#(SampleValue.json(attributes))"#,
            #""droppedAttributesCount":\#(droppedAttributes)"#, #""flags":\#(flags)"#,
            #""traceId":"\#(Self.hex(traceID).uppercased())""#,
            #""spanId":"\#(Self.hex(spanID))""#, #""observedTimeUnixNano":\#(observedTime)"#,
            #""eventName":\#(quoted(eventName))"#, #""new":{"unknown":[1,"x",null]}"#,
        ]
    }

    fileprivate var fields: [[String]] {
        var fields = [["timeUnixNano", "\(time)"]]
        if observedTime > 0 { fields.append(["observedTimeUnixNano", "\(observedTime)"]) }
        fields += [["severityNumber", "\(severityNumber)"], ["severityText", severityText]]
        if !eventName.isEmpty { fields.append(["eventName", eventName]) }
        fields.append(["attribute", SampleValue.shown(attributes)])
        if droppedAttributes > 0 {
            fields.append(["droppedAttributesCount", "\(droppedAttributes)"])
        }
        return fields + [
            ["content", body?.text ?? ""], ["flags", String(flags, radix: 16)],
            ["traceID", Self.hex(traceID)], ["spanID", Self.hex(spanID)],
        ]
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        guard bytes.contains(where: { $0 != 0 }) else { return "" }
        return bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

/// Both decoders of OTLP.
struct OTLPPair {
    let protobuf = OTLPDecoder()
    let json = JSONLogDecoder()

    /// Of requests whose logs are one group.
    func read(
        _ body: [UInt8],
        _ rules: LogRules = LogRules(),
        skew: Int64 = 0
    ) throws(LogDecodingError) -> DecodedLogs {
        Self.only(try groups(body, rules, skew: skew))
    }

    func read(
        json text: String,
        _ rules: LogRules = LogRules(),
        skew: Int64 = 0
    ) throws(LogDecodingError) -> DecodedLogs {
        Self.only(try groups(json: text, rules, skew: skew))
    }

    static func only(_ groups: [TrackedLogs]) -> DecodedLogs {
        precondition(groups.count < 2 && groups.allSatisfy { $0.tags.isEmpty })
        return groups.first?.logs ?? DecodedLogs()
    }

    func groups(
        _ body: [UInt8],
        _ rules: LogRules = LogRules(),
        skew: Int64 = 0,
        atMost bytesMax: Int = .max
    ) throws(LogDecodingError) -> [TrackedLogs] {
        let timing = BatchTiming(arrival: arrival, skew: ClockSkew(seconds: skew))
        return try padded(body) { body throws(LogDecodingError) in
            try protobuf.decode(LogBody(body, timing, rules), atMost: bytesMax)
        }
    }

    func groups(
        json text: String,
        _ rules: LogRules = LogRules(),
        skew: Int64 = 0,
        atMost bytesMax: Int = .max
    ) throws(LogDecodingError) -> [TrackedLogs] {
        let timing = BatchTiming(arrival: arrival, skew: ClockSkew(seconds: skew))
        return try padded(Array(text.utf8)) { body throws(LogDecodingError) in
            try json.decodeOTLP(LogBody(body, timing, rules), atMost: bytesMax)
        }
    }
}

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
