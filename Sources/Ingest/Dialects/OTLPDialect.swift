import Configuration
import HTTP
import JSON
import Logs

/// `POST /v1/logs` and, for exporters with an endpoint `…/otlp`, `POST /otlp/v1/logs`: the
/// OpenTelemetry Protocol over HTTP, as protobuf or JSON.
struct OTLPDialect: LogDialect {
    /// The tag of its logs: it becomes the topic, and names the logstore where a destination
    /// accepts every logstore.
    fileprivate static let tag = "otlp"

    /// nil: the content type is missing or unknown.
    private let encoding: OTLPEncoding?

    var label: DeviceLabel { .otlp }
    var methods: DeviceMethods { .post }
    var isText: Bool { encoding == .json }

    init?(_ path: UnsafeBufferPointer<UInt8>, _ head: RequestHead) {
        guard path.equals("/v1/logs") || path.equals("/otlp/v1/logs") else { return nil }
        encoding = head.field("content-type").flatMap { OTLPEncoding(contentType: $0) }
    }

    /// Exporters can set header fields and little else, so the logstore is in one.
    func admit(_ head: RequestHead) throws(Refusal) -> AddressedReader {
        guard let encoding else {
            throw .badContentType("Content-Type must be application/x-protobuf or application/json")
        }
        return (head.address(orTag: Self.tag), OTLPLogReader(encoding: encoding))
    }

    func refused(_ refusal: Refusal) -> Response {
        (encoding ?? .json).status(refusal)
    }
}

private struct OTLPLogReader: LogReader {
    let encoding: OTLPEncoding

    func read(_ request: LogRequest, _ decoder: BodyDecoder) throws(Refusal) -> TakenLogs {
        let topic = request.target.tag ?? OTLPDialect.tag
        let groups = try Refusal.decoding(try groups(of: request, decoder))
        let tagged = groups.map { group in
            let tag = TagText.cut(group.service ?? "", orElse: OTLPDialect.tag)
            return LogGroup(group, request.target, tag: tag, fallbackTopic: topic)
        }
        var taken = TakenLogs(tagged, of: request)
        let encoding = encoding
        if let rejection = OTLPRejection(groups.map(\.logs)) {
            taken.answer = { _ in encoding.partialSuccess(rejection) }
        } else {
            taken.answer = { _ in encoding.success }
        }
        return taken
    }

    private func groups(
        of request: LogRequest,
        _ decoder: BodyDecoder
    ) throws(LogDecodingError) -> [TrackedLogs] {
        let (body, bytesMax) = (request.body, request.repeatedBytesMax)
        let byService = request.table.router != nil
        return switch encoding {
        case .json:
            try decoder.json.decodeOTLP(body, atMost: bytesMax, byService: byService)
        case .protobuf:
            try decoder.otlp.decode(body, atMost: bytesMax, byService: byService)
        }
    }
}

/// The logs that the destination's rules set aside or dropped.
struct OTLPRejection: Sendable, Equatable {
    let logs: Int
    let reason: String

    init?(_ groups: [DecodedLogs]) {
        logs = groups.reduce(0) { $0 + $1.count - $1.sound.count }
        guard logs > 0 else { return nil }
        let faulty = groups.flatMap(\.faulty)
        var reasons = faulty.prefix(3).map { faulty in
            "\(faulty.logs.count) set aside: \(faulty.fault.message)"
        }
        if faulty.count > 3 { reasons.append("more set aside") }
        let dropped = groups.reduce(0) { $0 + $1.dropped }
        if dropped > 0 { reasons.append("\(dropped) dropped: their time is too far from now") }
        reason = reasons.joined(separator: "; ")
    }
}

/// The encoding of a request and of its answer, which must be the same.
enum OTLPEncoding: Sendable {
    case protobuf, json

    init?(contentType: String) {
        let type = contentType.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
        switch type.lowercased() {
        case "application/x-protobuf": self = .protobuf
        case "application/json": self = .json
        default: return nil
        }
    }

    private var contentType: String {
        switch self {
        case .protobuf: "application/x-protobuf"
        case .json: "application/json"
        }
    }

    /// An empty `ExportLogsServiceResponse`: success.
    var success: Response {
        switch self {
        case .protobuf: Response(status: 200, contentType: contentType)
        case .json: Response(status: 200, contentType: contentType, text: "{}")
        }
    }

    func partialSuccess(_ rejection: OTLPRejection) -> Response {
        switch self {
        case .protobuf:
            var partial = ProtobufText()
            partial.append(1, number: rejection.logs)
            partial.append(2, Array(rejection.reason.utf8))
            var answer = ProtobufText()
            answer.append(1, partial.bytes)
            return response(200, answer.bytes)
        case .json:
            var json = JSONWriter()
            json.object { json in
                json.object("partialSuccess") { json in
                    // 64-bit numbers are text in protobuf's JSON.
                    json.member("rejectedLogRecords", "\(rejection.logs)")
                    json.member("errorMessage", rejection.reason)
                }
            }
            return response(200, json.bytes)
        }
    }

    /// `google.rpc.Status`. Clients decide by the HTTP status whether they send again: after 429
    /// and 503 they do, after the time in `Retry-After`.
    func status(_ refusal: Refusal) -> Response {
        let code = Self.code(of: refusal.status)
        let message = "\(refusal.code): \(refusal.reason)"
        var answer: Response
        switch self {
        case .protobuf:
            var status = ProtobufText()
            status.append(1, number: code)
            status.append(2, Array(message.utf8))
            answer = response(refusal.status, status.bytes)
        case .json:
            var json = JSONWriter()
            json.object { json in
                json.member("code", code)
                json.member("message", message)
            }
            answer = response(refusal.status, json.bytes)
        }
        if refusal.code == "ContentTypeInvalid" {
            answer.fields.append(("accept", "application/x-protobuf, application/json"))
        }
        return answer
    }

    private func response(_ status: Int, _ body: [UInt8]) -> Response {
        Response(status: status, contentType: contentType, body: body)
    }

    /// The gRPC code (google/rpc/code.proto).
    private static func code(of status: Int) -> Int {
        switch status {
        case 401: 16  // UNAUTHENTICATED
        case 403: 7  // PERMISSION_DENIED
        case 404: 5  // NOT_FOUND
        case 405: 12  // UNIMPLEMENTED
        case 408: 4  // DEADLINE_EXCEEDED
        case 413, 429: 8  // RESOURCE_EXHAUSTED
        case 503: 14  // UNAVAILABLE
        case 500...: 13  // INTERNAL
        default: 3  // INVALID_ARGUMENT
        }
    }
}

/// Writes the few protobuf fields of an answer.
private struct ProtobufText {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ field: Int, number: Int) {
        append(varint: field << 3)
        append(varint: number)
    }

    mutating func append(_ field: Int, _ content: [UInt8]) {
        append(varint: field << 3 | 2)
        append(varint: content.count)
        bytes += content
    }

    private mutating func append(varint value: Int) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
