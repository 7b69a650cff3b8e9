import Configuration
import HTTP
import Logs
import System

/// `POST /loki/api/v1/push`: logs for Grafana's Loki, as JSON or as protobuf in snappy.
struct LokiDialect: LogDialect {
    /// The tag of its logs: it names the logstore where a destination accepts every logstore, and
    /// is the topic of streams without a naming label.
    fileprivate static let tag = "loki"
    /// nil: the content type is missing or unknown.
    private let encoding: Encoding?

    fileprivate enum Encoding {
        case json, protobuf
    }

    var label: DeviceLabel { .loki }
    var methods: DeviceMethods { .post }

    init?(_ path: UnsafeBufferPointer<UInt8>, _ head: RequestHead) {
        guard path.equals("/loki/api/v1/push") else { return nil }
        let type = head.field("content-type")?.prefix { $0 != ";" }.filter { !$0.isWhitespace }
        switch type?.lowercased() {
        case "application/json": encoding = .json
        // Loki's own clients. Loki treats a missing type the same way.
        case "application/x-protobuf", nil, "": encoding = .protobuf
        default: encoding = nil
        }
    }

    func admit(_ head: RequestHead) throws(Refusal) -> AddressedReader {
        guard let encoding else {
            throw .badContentType(
                "Content-Type must be application/json, or application/x-protobuf for snappy"
            )
        }
        if encoding == .protobuf { try checkCoding(head) }
        let reader = LokiLogReader(encoding: encoding, tenant: try LokiTenant(head))
        return (head.address(orTag: Self.tag), reader)
    }

    private func checkCoding(_ head: RequestHead) throws(Refusal) {
        guard let coding = head.field("content-encoding"), !coding.isEmpty else { return }
        guard ["snappy", "identity"].contains(coding.lowercased()) else {
            throw Refusal(
                415,
                "InvalidCompressType",
                "protobuf comes in snappy; Content-Encoding \(clipped(coding)) is for JSON"
            )
        }
    }

    /// Protobuf is always in snappy, and Loki's own clients do not say so.
    var coding: ContentCoding? { encoding == .protobuf ? .snappy : nil }

    var isText: Bool { encoding == .json }

    var contentEncodings: String {
        encoding == .protobuf ? "snappy, identity" : BodyDecoder.contentEncodings
    }

    /// Agents log the first line of an error, and act on the status.
    func refused(_ refusal: Refusal) -> Response {
        Response(
            status: refusal.status,
            contentType: "text/plain; charset=utf-8",
            text: "\(refusal.code): \(refusal.reason)\n"
        )
    }
}

private struct LokiLogReader: LogReader {
    /// The labels that name the source of logs; a stream's first one is its topic.
    private static let namingLabels = ["service_name", "app", "job"]
    /// The labels that give a stream its routing tag.
    private static let taggingLabels = ["tag", "job"]

    let encoding: LokiDialect.Encoding
    let tenant: LokiTenant

    func read(_ request: LogRequest, _ decoder: BodyDecoder) throws(Refusal) -> TakenLogs {
        let streams = try Refusal.decoding(try streams(of: request, decoder))
        let groups = streams.map { stream in
            let topic = Self.topic(of: stream.tags, request.limits)
            let tag = TagText.cut(
                Self.label(Self.taggingLabels, of: stream.tags) ?? "",
                orElse: LokiDialect.tag
            )
            var stream = stream
            tenant.mark(&stream)
            return LogGroup(stream, request.target, tag: tag, fallbackTopic: topic)
        }
        var taken = TakenLogs(groups, of: request)
        taken.answer = { _ in Response(status: 204) }
        // Loki stores a line once that is repeated with its time and labels.
        if request.recognizesContent, taken.identity == nil, streams.allSatisfy(\.areTimed) {
            taken.identity = request.identity(.push, [tenant.name ?? ""])
        }
        return taken
    }

    private func streams(
        of request: LogRequest,
        _ decoder: BodyDecoder
    ) throws(LogDecodingError) -> [TrackedLogs] {
        switch encoding {
        case .json: try decoder.json.decodeLoki(request.body)
        case .protobuf: try decoder.loki.decode(request.body)
        }
    }

    private static func topic(
        of labels: [(key: String, value: String)],
        _ limits: LimitSettings
    ) -> String {
        label(namingLabels, of: labels)?.prefix(bytes: limits.json.topicBytes) ?? LokiDialect.tag
    }

    /// The value of the first of these labels that is there.
    private static func label(
        _ names: [String],
        of labels: [(key: String, value: String)]
    ) -> String? {
        names.lazy.compactMap { name in
            labels.first { $0.key.hasSameBytes(as: name) }?.value
        }.first
    }
}

/// The tenant of a push, `X-Scope-OrgID`. It becomes a tag.
struct LokiTenant {
    private static let tag = "__tenant_id__"
    private static let bytesMax = 150

    let name: String?

    init(_ head: RequestHead) throws(Refusal) {
        guard let name = head.field("x-scope-orgid"), !name.isEmpty else {
            self.name = nil
            return
        }
        guard name.utf8.count <= Self.bytesMax, name.utf8.allSatisfy(\.isOfTenant) else {
            throw .badParameter(
                "X-Scope-OrgID names one tenant: up to \(Self.bytesMax) letters, digits and !-_.*'()"
            )
        }
        self.name = name
    }

    func mark(_ stream: inout TrackedLogs) {
        guard let name, !stream.tags.contains(where: { $0.key.hasSameBytes(as: Self.tag) }) else {
            return
        }
        stream.tags.append((Self.tag, name))
    }
}

extension UInt8 {
    fileprivate var isOfTenant: Bool {
        isWordCharacter || "!.*'()".utf8.contains(self)
    }
}
