import HTTP
import Logs

/// SLS's own PutLogs: `POST /logstores/{logstore}/shards/lb` or `/shards/route`, and `POST /logstores/{logstore}` of
/// older SDKs and of web pages with a token.
///
/// What its SDKs sign with a key that is none of ours says nothing here, nor does the version; see `AccessKeyClaim`.
struct PutLogsDialect: LogDialect {
    /// Percent-encoded, in the head.
    private let logstore: Range<Int>
    private let isRouted: Bool
    /// The number of a write to a shard.
    private var sequence: String?

    var label: DeviceLabel { .putlogs }
    var methods: DeviceMethods { .post }

    init?(_ path: UnsafeBufferPointer<UInt8>, at offset: Int) {
        guard let path = LogstorePath(path, at: offset) else { return nil }
        isRouted = path.rest.equals("/shards/route")
        guard isRouted || path.rest.isEmpty || path.rest.equals("/shards/lb") else { return nil }
        logstore = path.logstore
    }

    mutating func readHead(_ head: RequestHead) throws(Refusal) -> LogAddress {
        if isRouted { sequence = try HashRoute(head).sequence }
        return .logstore(String(decoding: head.bytes[logstore], as: UTF8.self))
    }

    func check(_ head: RequestHead, _ body: UnsafeRawBufferPointer) throws(Refusal) {
        guard !body.isEmpty else {
            throw Refusal(400, "PostBodyInvalid", "the body is empty; PutLogs brings a LogGroup")
        }
        try head.checkDigest(of: body)
    }

    func read(_ request: LogRequest, _ reader: BodyDecoder) throws(Refusal) -> TakenLogs {
        let groups: [TrackedLogs]
        do throws(LogDecodingError) {
            groups = try self.groups(request, reader)
        } catch {
            throw Refusal(error)
        }
        return TakenLogs(groups, of: request, sequence)
    }

    private func groups(
        _ request: LogRequest,
        _ reader: BodyDecoder
    ) throws(LogDecodingError) -> [TrackedLogs] {
        let (content, timing, rules) = (
            request.content, request.timing, request.rules
        )
        if request.head.field("x-log-mode") == "batch_group" {
            return try reader.putLogs.decodePackages(
                content,
                timing,
                rules,
                inflating: reader.limit
            )
        }
        // What is said about a body is often not so, and what it begins with is clear.
        if content.beginsAsObject || request.head.saysJSON && !content.beginsAsLogGroup {
            return [try reader.decoder.decodeTracking(content, timing, rules, timeParts: true)]
        }
        return [try reader.putLogs.decode(content, timing, rules)]
    }

    func accepted(_ acceptance: Acceptance) -> Response { Response(status: 200) }

    func refused(_ refusal: Refusal) -> Response { ErrorShape.sls.response(refusal) }
}

extension RequestHead {
    fileprivate var saysJSON: Bool {
        field("content-type")?.lowercased().hasPrefix("application/json") == true
    }
}
