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

    func admit(_ head: RequestHead) throws(Refusal) -> (address: LogAddress, reader: any LogReader)
    {
        guard let tag = percentDecodedText(head.bytes[tag]), TagText.isSound(tag) else {
            throw Refusal(
                400,
                "ParameterInvalid",
                "the tag in /logs/{tag} has 1 to 128 bytes of UTF-8 without control characters"
            )
        }
        let query = try PlainQuery(head)
        if head.field("content-type", begins: "multipart/") {
            throw Refusal(
                415,
                "ContentTypeInvalid",
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
        let logs: DecodedLogs
        do throws(LogDecodingError) {
            logs = try self.logs(request, decoder)
        } catch {
            throw Refusal(error)
        }
        let tracked = TrackedLogs(logs: logs, topic: query.topic, source: query.source)
        var taken = TakenLogs([
            LogGroup(tracked, request.target, tag: topic, fallbackTopic: topic)
        ])
        var more = ""
        if logs.unreadable > 0 {
            more = ",\"unreadable\":\(logs.unreadable),\"errors\":\(Self.errors(logs.faulty))"
        }
        let status = query.status ?? request.plainStatus
        taken.answer = { [more] acceptance in Self.answer(acceptance, status, more) }
        return taken
    }

    private func logs(
        _ request: LogRequest,
        _ decoder: BodyDecoder
    ) throws(LogDecodingError) -> DecodedLogs {
        let (content, timing, rules) = (
            request.content, request.timing, request.rules
        )
        switch query.format {
        case .lines: return try decoder.lines.decode(content, timing, rules)
        case .json:
            return try decoder.json.decodePlain(
                content,
                timing,
                rules,
                timeField: query.timeField
            )
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
        body += "{\"receipt\":\"".utf8
        body += acceptance.receipt.utf8
        body += "\",\"count\":".utf8
        body += String(acceptance.logs).utf8
        body += more.utf8
        body += "}\n".utf8
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
