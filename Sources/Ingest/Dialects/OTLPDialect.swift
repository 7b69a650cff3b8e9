import Configuration
import HTTP
import Logs

/// `POST /v1/logs` and, for exporters with an endpoint `…/otlp`, `POST /otlp/v1/logs`: the OpenTelemetry Protocol
/// over HTTP, as protobuf or JSON.
struct OTLPDialect: LogDialect {
    /// The tag of its logs: it becomes the topic, and names the logstore where a destination accepts every logstore.
    private static let tag = "otlp"

    /// nil: the content type is missing or unknown.
    let encoding: OTLPEncoding?

    var label: DeviceLabel { .otlp }
    var methods: DeviceMethods { .post }

    init?(_ path: UnsafeBufferPointer<UInt8>, _ head: borrowing RequestHead) {
        guard path.equals("/v1/logs") || path.equals("/otlp/v1/logs") else { return nil }
        encoding = head.field("content-type").flatMap { OTLPEncoding(contentType: $0) }
    }

    /// Exporters can set header fields and little else, so the logstore is in one.
    mutating func readHead(_ head: RequestHead) throws(Refusal) -> LogAddress {
        guard encoding != nil else {
            throw Refusal(
                415,
                "ContentTypeInvalid",
                "Content-Type must be application/x-protobuf or application/json"
            )
        }
        guard let logstore = head.field("x-log-logstore"), !logstore.isEmpty else {
            return .tag(Self.tag)
        }
        return .logstore(logstore)
    }

    func read(_ request: LogRequest, _ reader: BodyDecoder) throws(Refusal) -> TakenLogs {
        let labels = request.target.labels
        let topic = labels.topic.isEmpty ? request.target.tag ?? Self.tag : labels.topic
        var groups = try groups(of: request, reader)
        for index in groups.indices { groups[index].topic = topic }
        var taken = TakenLogs(groups, of: request)
        if let encoding, let rejection = OTLPRejection(groups.map(\.logs)) {
            taken.accepted = { _ in encoding.partialSuccess(rejection) }
        }
        return taken
    }

    private func groups(
        of request: LogRequest,
        _ reader: BodyDecoder
    ) throws(Refusal) -> [TrackedLogs] {
        let (rules, bytesMax) = (request.rules, request.repeatedBytesMax)
        do throws(LogDecodingError) {
            switch encoding {
            case .json:
                return try reader.decoder.decodeOTLP(
                    request.content,
                    request.timing,
                    rules,
                    atMost: bytesMax
                )
            case .protobuf, nil:
                return try reader.otlp.decode(
                    request.content,
                    request.timing,
                    rules,
                    atMost: bytesMax
                )
            }
        } catch {
            throw Refusal(error)
        }
    }

    func accepted(_ acceptance: Acceptance) -> Response {
        (encoding ?? .json).success
    }

    func refused(_ refusal: Refusal) -> Response {
        (encoding ?? .json).status(refusal)
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
