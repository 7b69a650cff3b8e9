import HTTP
import JSON
import Logs
import System

/// `POST /logs/{tag}`: plain JSON, or text with a log on each line.
///
/// The content type does not matter: agents and pages send JSON under many names.
struct PlainDialect: LogDialect {
    /// Percent-encoded, in the head.
    private let tag: Range<Int>

    var label: DeviceLabel { .logs }
    var methods: DeviceMethods { .post }

    init?(_ path: UnsafeBufferPointer<UInt8>, at offset: Int) {
        guard path.begins(with: "/logs/") else { return nil }
        let tag = "/logs/".utf8.count..<path.count
        guard !tag.isEmpty, !path[tag].contains(UInt8(ascii: "/")) else { return nil }
        self.tag = tag.lowerBound + offset..<tag.upperBound + offset
    }

    func admit(_ head: RequestHead) throws(Refusal) -> AddressedReader {
        guard let tag = percentDecodedText(head.bytes[tag]), TagText.isSound(tag) else {
            throw .badParameter(
                "the tag in /logs/{tag} has 1 to 128 bytes of UTF-8 without control characters"
            )
        }
        let query = try PlainQuery(head)
        if head.field("content-type", begins: "multipart/") {
            throw .badContentType(
                "logs are taken as the body itself, not as parts of a form; with curl: --data-binary @file"
            )
        }
        try Refusal.checkNotMessagePack(head)
        return (.tag(tag), PlainLogReader(topic: tag, query: query))
    }

    func refused(_ refusal: Refusal) -> Response { ErrorShape.plain.response(refusal) }
}

private struct PlainLogReader: LogReader {
    private static let errorsMax = 10

    let topic: String
    let query: PlainQuery

    var tag: String? { topic }

    func read(_ request: LogRequest, _ decoder: BodyDecoder) throws(Refusal) -> TakenLogs {
        let logs = try Refusal.decoding(try logs(request, decoder))
        let tracked = TrackedLogs(logs: logs, topic: query.topic, source: query.source)
        let group = LogGroup(tracked, request.target, tag: topic, fallbackTopic: topic)
        let status = query.status ?? request.plainStatus
        guard logs.unreadable > 0 || status != 200 else {
            // The usual answer, whose closure holds nothing.
            return TakenLogs([group]) { Self.answer($0, 200, "") }
        }
        let more =
            logs.unreadable > 0
            ? ",\"unreadable\":\(logs.unreadable),\"errors\":\(Self.errors(logs.faulty))" : ""
        return TakenLogs([group]) { Self.answer($0, status, more) }
    }

    private func logs(
        _ request: LogRequest,
        _ decoder: BodyDecoder
    ) throws(LogDecodingError) -> DecodedLogs {
        switch query.format {
        case .lines: try decoder.lines.decode(request.body)
        case .json:
            try decoder.json.decodePlain(request.body, timeField: query.timeField)
        }
    }

    private static func answer(
        _ acceptance: Acceptance,
        _ status: Int,
        _ more: String
    ) -> Response {
        // In bytes, without the texts between them: this is the answer to most requests.
        var body: [UInt8] = []
        body.reserveCapacity(64 + more.utf8.count)
        body.append(ascii: "{\"receipt\":\"")
        body += acceptance.receipt
        body.append(ascii: "\",\"count\":")
        body.append(decimal: acceptance.logs)
        if !more.isEmpty { body += more.utf8 }
        body.append(ascii: "}\n")
        return Response(status: status, contentType: "application/json", body: body)
    }

    /// Position and reason of the first unreadable texts, which became dead letters.
    private static func errors(_ faulty: [FaultyLogs]) -> String {
        var json = JSONWriter()
        json.array { json in
            var count = 0
            for faulty in faulty where count < errorsMax {
                guard case .unreadable(let position, let reason) = faulty.fault else { continue }
                count += 1
                json.object { json in
                    json.member("position", position)
                    json.member("message", reason)
                }
            }
        }
        return json.text
    }
}

/// The query of `/logs/{tag}`: `time_field`, `topic`, `source`, `format` and `status`.
///
/// It is read like a form: a plus is a space. Other names are ignored: libraries and proxies add
/// their own, as jQuery does `_=1732330000000`, and `key` is the device's.
struct PlainQuery {
    enum Format: String {
        case json, lines
    }

    private static let limits = LogLimits()
    static let names: Set = ["time_field", "topic", "source", "format", "status"]

    /// The field with a log's time, besides `__time__`.
    private(set) var timeField: String?
    private(set) var topic: String?
    private(set) var source: String?
    private(set) var format = Format.json
    /// The status of the answer when the logs are accepted.
    private(set) var status: Int?

    init(_ head: RequestHead) throws(Refusal) {
        guard let query = head.query, !query.isEmpty else { return }
        var seen: Set<String> = []
        for pair in head.bytes[query].split(separator: UInt8(ascii: "&")) {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard let name = formText(pair[..<end]), Self.names.contains(name) else { continue }
            guard let value = formText(pair[end...].dropFirst()) else {
                throw Self.wrong(
                    "\(name) has a % that is no escape, or text that is not UTF-8"
                )
            }
            guard seen.insert(name).inserted else {
                throw Self.wrong("\(name) is there twice")
            }
            try take(name, value)
        }
        guard format == .json || timeField == nil else {
            throw Self.wrong(
                "time_field is for JSON; with format=lines a log's time is its arrival"
            )
        }
    }

    private mutating func take(_ name: String, _ value: String) throws(Refusal) {
        switch name {
        case "time_field":
            guard 1...FieldName.bytesMax ~= value.utf8.count else {
                throw Self.wrong(
                    "time_field is the name of a field, 1 to \(FieldName.bytesMax) bytes"
                )
            }
            timeField = value
        case "topic": topic = try Self.label(name, value, Self.limits.topicBytes)
        case "source": source = try Self.label(name, value, Self.limits.sourceBytes)
        case "status":
            guard value == "200" || value == "201" else {
                throw Self.wrong("status is neither 200 nor 201")
            }
            status = Int(value)
        default:
            guard let format = Format(rawValue: value) else {
                throw Self.wrong("format is neither json nor lines")
            }
            self.format = format
        }
    }

    /// An empty value counts as missing.
    private static func label(
        _ name: String,
        _ value: String,
        _ bytesMax: Int
    ) throws(Refusal) -> String? {
        guard value.utf8.count <= bytesMax else {
            throw wrong("\(name) must not exceed \(bytesMax) bytes")
        }
        return value.isEmpty ? nil : value
    }

    private static func wrong(_ reason: String) -> Refusal {
        Refusal.badParameter("the query: \(reason)")
    }
}
