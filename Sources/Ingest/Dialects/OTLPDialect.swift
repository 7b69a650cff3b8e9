import Configuration
import HTTP
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

    init?(_ path: UnsafeBufferPointer<UInt8>, _ head: borrowing RequestHead) {
        guard path.equals("/v1/logs") || path.equals("/otlp/v1/logs") else { return nil }
        encoding = head.field("content-type").flatMap { OTLPEncoding(contentType: $0) }
    }

    /// Exporters can set header fields and little else, so the logstore is in one.
    func admit(_ head: RequestHead) throws(Refusal) -> (address: LogAddress, reader: any LogReader)
    {
        guard let encoding else {
            throw Refusal(
                415,
                "ContentTypeInvalid",
                "Content-Type must be application/x-protobuf or application/json"
            )
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
        let groups = try groups(of: request, decoder)
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
    ) throws(Refusal) -> [TrackedLogs] {
        let (rules, bytesMax) = (request.rules, request.repeatedBytesMax)
        let byService = request.table.router != nil
        do throws(LogDecodingError) {
            switch encoding {
            case .json:
                return try decoder.json.decodeOTLP(
                    request.content,
                    request.timing,
                    rules,
                    atMost: bytesMax,
                    byService: byService
                )
            case .protobuf:
                return try decoder.otlp.decode(
                    request.content,
                    request.timing,
                    rules,
                    atMost: bytesMax,
                    byService: byService
                )
            }
        } catch {
            throw Refusal(error)
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
