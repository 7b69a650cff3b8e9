@testable import Logs

/// A push as tests have it, its two encodings, and what it means.
struct SamplePush {
    struct Entry {
        var time: Int64 = Int64(arrivalSeconds) * 1_000_000_000
        var line = ""
        var metadata: [(String, String)] = []
    }

    struct Stream {
        var labels: [(String, String)] = []
        var entries: [Entry] = []
    }

    var streams: [Stream]

    init(_ streams: [Stream]) { self.streams = streams }

    init(_ labels: [(String, String)], _ lines: String...) {
        streams = [Stream(labels: labels, entries: lines.map { Entry(line: $0) })]
    }

    /// A message is its fields; their order is up to its writer.
    func protobuf(order: ([[UInt8]]) -> [[UInt8]] = { $0 }) -> [UInt8] {
        func message(_ fields: [[UInt8]]) -> [UInt8] { order(fields).flatMap { $0 } }
        return streams.flatMap { stream in
            let labels = stream.labels.map { "\($0.0)=\(Self.goQuoted($0.1))" }
            let entries = stream.entries.flatMap { entry in
                let (seconds, nanoseconds) = entry.time.quotientAndRemainder(
                    dividingBy: 1_000_000_000
                )
                let time =
                    Wire.number(1, UInt64(bitPattern: seconds))
                    + (nanoseconds > 0 ? Wire.number(2, UInt64(nanoseconds)) : [])
                let metadata = entry.metadata.flatMap { Wire.bytes(3, Wire.pair($0.0, $0.1)) }
                let line = Wire.bytes(2, Array(entry.line.utf8))
                return Wire.bytes(2, message([Wire.bytes(1, time), line, metadata]))
            }
            let text = Array("{\(labels.joined(separator: ", "))}".utf8)
            return Wire.bytes(1, message([Wire.bytes(1, text), entries, Wire.number(3, 1 << 60)]))
        }
    }

    func json(order: ([String]) -> [String] = { $0 }) -> String {
        func object(_ members: [String]) -> String {
            "{\(order(members).joined(separator: ","))}"
        }
        func object(of pairs: [(String, String)]) -> String {
            "{\(pairs.map { "\(quoted($0.0)):\(quoted($0.1))" }.joined(separator: ","))}"
        }
        let list = streams.map { stream in
            let values = stream.entries.map { entry in
                let more = entry.metadata.isEmpty ? "" : ",\(object(of: entry.metadata))"
                return "[\"\(entry.time)\",\(quoted(entry.line))\(more)]"
            }
            return object([
                #""stream":\#(object(of: stream.labels))"#,
                #""values":[\#(values.joined(separator: ","))]"#,
            ])
        }
        return object([#""streams":[\#(list.joined(separator: ","))]"#])
    }

    /// As Go's %q has it.
    static func goQuoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            case "\u{1F}": quoted += "\\x1f"
            case "\u{7F}": quoted += "\\u007f"
            case "😀": quoted += "\\U0001F600"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

/// Both decoders.
struct LokiPair {
    let protobuf: LokiDecoder
    let json: JSONLogDecoder

    init(_ limits: LogLimits = LogLimits()) {
        (protobuf, json) = (LokiDecoder(limits: limits), JSONLogDecoder(limits: limits))
    }

    private let timing = BatchTiming(arrival: arrival)

    func read(
        _ body: [UInt8],
        _ rules: LogRules = LogRules(times: .sls)
    ) throws(LogDecodingError) -> [TrackedLogs] {
        try padded(body) { body throws(LogDecodingError) in
            try protobuf.decode(LogBody(body, timing, rules))
        }
    }

    func read(
        json text: String,
        _ rules: LogRules = LogRules(times: .sls)
    ) throws(LogDecodingError) -> [TrackedLogs] {
        try padded(Array(text.utf8)) { body throws(LogDecodingError) in
            try json.decodeLoki(LogBody(body, timing, rules))
        }
    }

    /// Of both encodings, which are held against each other.
    func read(
        _ push: SamplePush,
        _ rules: LogRules = LogRules(times: .sls)
    ) throws -> [ReadStream] {
        let streams = try read(push.protobuf(), rules).map { try ReadStream($0) }
        let same = try read(json: push.json(), rules).map { try ReadStream($0) }
        guard streams == same else { throw Differing(streams: streams, same: same) }
        return streams
    }

    struct Differing: Error {
        let streams: [ReadStream]
        let same: [ReadStream]
    }
}

/// A stream as tests compare it: fields in the order of their names, which the encodings write
/// differently.
struct ReadStream: Equatable {
    var labels: [[String]]
    var logs: [Read]
    var faulty = 0
    var dropped = 0

    init(_ labels: [[String]], _ logs: [Read]) {
        (self.labels, self.logs) = (labels, logs)
    }

    init(_ stream: TrackedLogs) throws {
        labels = stream.tags.map { [$0.key, $0.value] }
        logs = try stream.logs.sound.read().map { log in
            var log = log
            log.fields.sort { $0[0] < $1[0] }
            return log
        }
        faulty = stream.logs.faulty.reduce(0) { $0 + $1.logs.count }
        dropped = stream.logs.dropped
    }
}
