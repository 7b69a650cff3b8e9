import Crypto
import HTTP
import Logs
import System

/// SLS's own PutLogs: `POST /logstores/{logstore}/shards/lb` or `/shards/route`, and `POST
/// /logstores/{logstore}` from older SDKs and from web pages with a token.
///
/// Signatures with a key of another place are ignored, and so is the API version; see
/// `AccessKeyClaim`.
struct PutLogsDialect: LogDialect {
    /// Percent-encoded, in the head.
    private let logstore: Range<Int>
    private let isRouted: Bool

    var label: DeviceLabel { .putlogs }
    var methods: DeviceMethods { .post }
    var isText: Bool { false }

    init?(_ path: UnsafeBufferPointer<UInt8>, at offset: Int) {
        guard let path = LogstorePath(path, at: offset) else { return nil }
        isRouted = path.rest.equals("/shards/route")
        guard isRouted || path.rest.isEmpty || path.rest.equals("/shards/lb") else { return nil }
        logstore = path.logstore
    }

    func admit(_ head: RequestHead) throws(Refusal) -> AddressedReader {
        let sequence = isRouted ? try HashRoute(head).sequence : nil
        let logstore = String(decoding: head.bytes[logstore], as: UTF8.self)
        return (.logstore(logstore), PutLogsLogReader(logstore: logstore, sequence: sequence))
    }

    func refused(_ refusal: Refusal) -> Response { ErrorShape.sls.response(refusal) }
}

private struct PutLogsLogReader: LogReader {
    let logstore: String
    /// The number of a write to a shard.
    let sequence: String?

    var tag: String? { logstore }

    func check(_ head: RequestHead, _ body: UnsafeRawBufferPointer) throws(Refusal) {
        guard !body.isEmpty else {
            throw .badBody("the body is empty; PutLogs brings a LogGroup")
        }
        try head.checkDigest(of: body)
    }

    func read(_ request: LogRequest, _ decoder: BodyDecoder) throws(Refusal) -> TakenLogs {
        let groups = try Refusal.decoding(try groups(request, decoder))
        let tagged = groups.map { LogGroup($0, request.target, tag: logstore) }
        return TakenLogs(tagged, of: request, sequence)
    }

    private func groups(
        _ request: LogRequest,
        _ decoder: BodyDecoder
    ) throws(LogDecodingError) -> [TrackedLogs] {
        let (body, content) = (request.body, request.content)
        if request.head.field("x-log-mode") == "batch_group" {
            return try decoder.putLogs.decodePackages(body, inflating: decoder.limit)
        }
        // Headers about the body are often wrong; its first bytes are not.
        if content.beginsAsObject || request.head.saysJSON && !content.beginsAsLogGroup {
            return [try decoder.json.decodeTracking(body, timeParts: true)]
        }
        return [try decoder.putLogs.decode(body)]
    }
}

extension RequestHead {
    fileprivate var saysJSON: Bool {
        field("content-type", begins: "application/json")
    }

    /// Refuses a body that differs from the one that the client signed, if `Content-MD5` is there.
    /// SLS's SDKs write the MD5 in hexadecimal.
    fileprivate func checkDigest(of body: UnsafeRawBufferPointer) throws(Refusal) {
        guard let given = field("content-md5"), !given.isEmpty else { return }
        // Without the values: a hash tells a body that is hidden from those who read refusals.
        guard given.uppercased() == hex(Digest.md5(body), upper: true) else {
            throw Refusal(400, "InvalidContentMD5", "Content-MD5 is not that of the body")
        }
    }
}

/// `/logstores/{logstore}`, and the rest of the path.
struct LogstorePath {
    /// Percent-encoded, in the head.
    let logstore: Range<Int>
    /// Empty, or a slash and more.
    let rest: UnsafeBufferPointer<UInt8>

    init?(_ path: UnsafeBufferPointer<UInt8>, at offset: Int) {
        guard path.begins(with: "/logstores/") else { return nil }
        let start = "/logstores/".utf8.count
        let end = path[start...].firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex
        guard end > start else { return nil }
        logstore = start + offset..<end + offset
        rest = UnsafeBufferPointer(rebasing: path[end...])
    }
}

/// The shard that a client wants: `?key=…`, and `&seqid=…` when the write is to be stored once.
///
/// The key is checked and not used. A packet holds the logs of many requests, so each key would
/// need a stream of its own, and with `exactly_once` a packet has its own key.
struct HashRoute {
    /// Distinguishes the request from others with the same content; nil when the client does not
    /// number them.
    private(set) var sequence: String?

    init(_ head: RequestHead) throws(Refusal) {
        guard let pairs = head.queryPairs else {
            throw .badParameter("the query has a % that is no escape")
        }
        guard let key = pairs.first(where: { $0.name == "key" })?.value else {
            throw Refusal(400, "MissingParameter", "/shards/route needs key, 32 hexadecimal digits")
        }
        guard key.utf8.count == 32, key.utf8.allSatisfy({ hexValue($0) != nil }) else {
            // Not its value: a device's own key has the same name.
            throw .badParameter("key is not 32 hexadecimal digits")
        }
        guard let number = pairs.first(where: { $0.name == "seqid" })?.value else { return }
        guard let value = UInt64(number) else {
            throw .badParameter("seqid is not a number")
        }
        sequence = "\(key.lowercased()) \(value)"
    }
}
