import Logs
import TestSupport
import Testing

/// A request, and what the developer who sent it is told.
struct BadRequest: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let method: String
    let path: String
    let body: [UInt8]
    let fields: [(String, String)]
    let status: Int
    let code: String
    let reason: String

    /// `request` is `POST /logs/x`, `answer` is `404 PathNotExist`. A GET has no body by default.
    init(
        _ name: String,
        _ request: String,
        _ answer: String,
        _ reason: String,
        body: [UInt8]? = nil,
        text: String? = nil,
        fields: [(String, String)] = []
    ) {
        let (words, told) = (request.split(separator: " "), answer.split(separator: " "))
        testDescription = name
        (method, path) = (String(words[0]), String(words[1]))
        self.body = body ?? Array((text ?? (words[0] == "GET" ? "" : "{}")).utf8)
        self.fields = fields
        (status, code, self.reason) = (Int(told[0]) ?? 0, String(told[1]), reason)
    }

    static let track = "/logstores/app-log/track"
    static let balanced = "/logstores/app-log/shards/lb"
    private static let routed = "/logstores/app-log/shards/route"
    private static let key = "key=0123456789abcdef0123456789abcdef"
    private static let group: [UInt8] = [0x0A, 4, 0x12, 2, 0x0A, 0]

    static let table = plain + putLogs + tracking

    private static let plain: [BadRequest] = [
        .init("no such path", "POST /nowhere", "404 PathNotExist", "no such path"),
        .init("a tag with a slash", "POST /logs/a/b", "404 PathNotExist", "no such path"),
        .init("no tag", "POST /logs/", "404 PathNotExist", "no such path"),
        .init(
            "shards are not listed",
            "GET /logstores/app-log/shards",
            "404 PathNotExist",
            "no such path"
        ),
        .init("no logstore", "POST /logstores//shards/lb", "404 PathNotExist", "no such path"),
        .init("GET on logs", "GET /logs/x", "405 InvalidMethod", "POST, OPTIONS"),
        .init("POST on the pulse", "POST /healthz", "405 InvalidMethod", "GET, HEAD"),
        .init("DELETE on track", "DELETE \(track)", "405 InvalidMethod", "POST, OPTIONS"),
        .init(
            "another logstore",
            "POST /logstores/nope/track",
            "404 LogStoreNotExist",
            "logstore nope does not exist in project my-project"
        ),
        .init(
            "another project",
            "POST \(track)",
            "404 ProjectNotExist",
            "project nope does not exist here",
            fields: [("x-log-project", "nope")]
        ),
        .init(
            "a tag that is no logstore",
            "POST /logs/Not.One",
            "404 LogStoreNotExist",
            "not valid",
            fields: [("host", "other-project.x")]
        ),
        .init("a tag that is no text", "POST /logs/%FF", "400 ParameterInvalid", "UTF-8"),
        .init(
            "a tag with a control character",
            "POST /logs/a%00b",
            "400 ParameterInvalid",
            "control characters"
        ),
        .init("a cut escape in the tag", "POST /logs/a%4", "400 ParameterInvalid", "UTF-8"),
        .init("no JSON", "POST /logs/x", "400 PostBodyInvalid", "(at byte 0)", text: "hello"),
        .init(
            "JSON that ends early",
            "POST /logs/x",
            "400 PostBodyInvalid",
            "at byte",
            text: #"{"a":"#
        ),
        .init("an empty body", "POST /logs/x", "400 PostBodyInvalid", "no log", body: []),
        .init(
            "bytes that are no UTF-8, where they are to be refused",
            "POST /logs/x?on_error=refuse",
            "400 PostBodyInvalid",
            "UTF-8",
            body: Array(#"{"a":""#.utf8) + [0xff] + Array(#""}"#.utf8)
        ),
        .init("tracking without logs", "POST \(track)", "400 PostBodyInvalid", "__logs__"),
        .init(
            "tracking that is no object",
            "POST \(track)",
            "400 PostBodyInvalid",
            "at byte",
            text: "[]"
        ),
        .init(
            "an unknown compression",
            "POST \(track)",
            "400 InvalidCompressType",
            "rar is not one of",
            fields: [("x-log-compresstype", "rar")]
        ),
        .init(
            "an unknown encoding",
            "POST /logs/x",
            "415 InvalidCompressType",
            "br is not one of",
            fields: [("content-encoding", "br")]
        ),
        .init(
            "lz4 without its size",
            "POST \(track)",
            "400 PostBodyUncompressError",
            "x-log-bodyrawsize",
            body: LZ4.compress(Array("{}".utf8)),
            fields: [("x-log-compresstype", "lz4")]
        ),
        .init(
            "a size that is no number",
            "POST \(track)",
            "400 PostBodyUncompressError",
            "not a number",
            fields: [("x-log-compresstype", "lz4"), ("x-log-bodyrawsize", "-1")]
        ),
        .init(
            "a size that is not the content's",
            "POST \(track)",
            "400 PostBodyUncompressError",
            "9",
            body: Deflate.compress(Array("{}".utf8)),
            fields: [("x-log-compresstype", "deflate"), ("x-log-bodyrawsize", "9")]
        ),
        .init(
            "no deflate at all",
            "POST \(track)",
            "400 PostBodyUncompressError",
            "",
            fields: [("x-log-compresstype", "deflate")]
        ),
        .init(
            "a bomb",
            "POST /logs/x",
            "413 PostBodyTooLarge",
            "inflates more than",
            body: Deflate.compress([UInt8](repeating: 0x20, count: 9 << 20)),
            fields: [("content-encoding", "deflate")]
        ),
        .init(
            "a body that grows too large",
            "POST /logs/x",
            "413 PostBodyTooLarge",
            "",
            body: Zstd.compress(Array(repeating: UInt8(0x20), count: 11 << 20)),
            fields: [("content-encoding", "zstd")]
        ),
        .init(
            "a body that is too large",
            "POST /logs/x",
            "413 PostBodyTooLarge",
            "",
            body: [],
            fields: [("content-length", "\((10 << 20) + 1)")]
        ),
    ]

    private static let putLogs: [BadRequest] = [
        .init("GET on a logstore", "GET /logstores/app-log", "405 InvalidMethod", "POST, OPTIONS"),
        .init(
            "PutLogs to another logstore",
            "POST /logstores/nope/shards/lb",
            "404 LogStoreNotExist",
            "logstore nope does not exist"
        ),
        .init(
            "PutLogs without a body",
            "POST \(balanced)",
            "400 PostBodyInvalid",
            "the body is empty",
            body: []
        ),
        .init(
            "a LogGroup that ends early",
            "POST \(balanced)",
            "400 PostBodyInvalid",
            "(at byte 0)",
            body: group.dropLast()
        ),
        .init(
            "no protobuf",
            "POST /logstores/app-log",
            "400 PostBodyInvalid",
            "at byte",
            text: "hello"
        ),
        .init(
            "no JSON where that was said",
            "POST \(balanced)",
            "400 PostBodyInvalid",
            "at byte",
            text: "hello",
            fields: [("content-type", "application/json; charset=utf-8")]
        ),
        .init(
            "packages that are none",
            "POST \(balanced)",
            "400 PostBodyInvalid",
            "SlsLogPackageList",
            body: [0x08, 1],
            fields: [("x-log-mode", "batch_group")]
        ),
        .init(
            "a package that is damaged",
            "POST \(balanced)",
            "400 PostBodyUncompressError",
            "package 1: ",
            body: [0x0A, 8, 0x0A, 2, 1, 2, 0x10, 9, 0x18, 2],
            fields: [("x-log-mode", "batch_group")]
        ),
        .init(
            "a package that is too large",
            "POST \(balanced)",
            "413 PostBodyTooLarge",
            "package 1: the packages hold more than",
            body: [0x0A, 11, 0x0A, 2, 1, 2, 0x10, 0x80, 0x80, 0x80, 0x20, 0x18, 2],
            fields: [("x-log-mode", "batch_group")]
        ),
        .init(
            "a digest of another body",
            "POST \(balanced)",
            "400 InvalidContentMD5",
            "is not that of the body",
            body: group,
            fields: [("content-md5", "47651B3A52D197A22E9A41A8A8EA5C75")]
        ),
        .init(
            "a LogGroup of another size",
            "POST \(balanced)",
            "400 PostBodyUncompressError",
            "more bytes than x-log-bodyrawsize says (5)",
            body: Deflate.compress(group),
            fields: [("x-log-compresstype", "deflate"), ("x-log-bodyrawsize", "5")]
        ),
        .init("a route without a key", "POST \(routed)", "400 MissingParameter", "needs key"),
        .init(
            "a key that is too short",
            "POST \(routed)?key=0123",
            "400 ParameterInvalid",
            "key is not 32"
        ),
        .init(
            "a key of other digits",
            "POST \(routed)?key=g123456789abcdef0123456789abcdef",
            "400 ParameterInvalid",
            "is not 32"
        ),
        .init(
            "a number that is none",
            "POST \(routed)?\(key)&seqid=-1",
            "400 ParameterInvalid",
            "seqid is not a number"
        ),
        .init(
            "a query that ends in an escape",
            "POST \(routed)?\(key)&seqid=%3",
            "400 ParameterInvalid",
            "no escape"
        ),
    ]

    private static let tracking: [BadRequest] = [
        .init(
            "a picture without fields",
            "GET \(track).gif?APIVersion=0.6.0&__topic__=t",
            "400 ParameterInvalid",
            "the query has no field"
        ),
        .init(
            "GET without a query",
            "GET \(track)",
            "400 ParameterInvalid",
            "the query has no field"
        ),
        .init(
            "a topic that is too long",
            "GET \(track)" + "?k=v&__topic__=" + String(repeating: "t", count: 129),
            "400 ParameterInvalid",
            "__topic__ must not exceed 128 bytes"
        ),
        .init(
            "GET with a body",
            "GET \(track)?k=v",
            "400 ParameterInvalid",
            "takes no body",
            text: "{}"
        ),
        .init(
            "a picture of another logstore",
            "GET /logstores/nope/track.gif?k=v",
            "404 LogStoreNotExist",
            "logstore nope does not exist"
        ),
        .init(
            "POST to a picture",
            "POST \(track)_ua.gif",
            "405 InvalidMethod",
            "GET, HEAD, OPTIONS"
        ),
        .init(
            "protobuf that ends early",
            "POST \(track)",
            "400 PostBodyInvalid",
            "(at byte 0)",
            body: [0x0A, 9, 0x08, 1]
        ),
    ]
}

extension TestClient {
    func send(_ request: BadRequest) throws -> TestAnswer {
        var head = "\(request.method) \(request.path) HTTP/1.1\r\nconnection: close\r\n"
        let names = request.fields.map(\.0)
        if !names.contains("host") { head += "host: gateway.test\r\n" }
        if !names.contains("content-length") { head += "content-length: \(request.body.count)\r\n" }
        for (name, value) in request.fields { head += "\(name): \(value)\r\n" }
        return try exchange(Array((head + "\r\n").utf8) + request.body)
    }
}
