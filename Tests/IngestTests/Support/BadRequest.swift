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

    static let table = listed + withBytes

    /// A name, a request, its answer, a part of the reason; perhaps the body behind `=`, and header
    /// fields.
    private static let listed = """
        no such path | POST /nowhere | 404 PathNotExist | no such path
        a tag with a slash | POST /logs/a/b | 404 PathNotExist | no such path
        no tag | POST /logs/ | 404 PathNotExist | no such path
        shards are not listed | GET /logstores/app-log/shards | 404 PathNotExist | no such path
        no logstore | POST /logstores//shards/lb | 404 PathNotExist | no such path
        GET on logs | GET /logs/x | 405 InvalidMethod | POST, OPTIONS
        POST on the pulse | POST /healthz | 405 InvalidMethod | GET, HEAD
        DELETE on track | DELETE \(track) | 405 InvalidMethod | POST, OPTIONS
        another logstore | POST /logstores/nope/track | 404 LogStoreNotExist | logstore nope does not exist in project my-project
        another project | POST \(track) | 404 ProjectNotExist | project nope does not exist here | x-log-project: nope
        a tag that is no logstore | POST /logs/Not.One | 404 LogStoreNotExist | not valid | host: other-project.x
        a tag that is no text | POST /logs/%FF | 400 ParameterInvalid | UTF-8
        a tag with a control character | POST /logs/a%00b | 400 ParameterInvalid | control characters
        a cut escape in the tag | POST /logs/a%4 | 400 ParameterInvalid | UTF-8
        no JSON | POST /logs/x | 400 PostBodyInvalid | (at byte 0) | =hello
        JSON that ends early | POST /logs/x | 400 PostBodyInvalid | at byte | ={"a":
        an empty body | POST /logs/x | 400 PostBodyInvalid | no log | =
        tracking without logs | POST \(track) | 400 PostBodyInvalid | __logs__
        tracking that is no object | POST \(track) | 400 PostBodyInvalid | at byte | =[]
        an unknown compression | POST \(track) | 400 InvalidCompressType | rar is not one of | x-log-compresstype: rar
        an unknown encoding | POST /logs/x | 415 InvalidCompressType | br is not one of | content-encoding: br
        a size that is no number | POST \(track) | 400 PostBodyUncompressError | not a number | x-log-compresstype: lz4 | x-log-bodyrawsize: -1
        no deflate at all | POST \(track) | 400 PostBodyUncompressError |  | x-log-compresstype: deflate
        a body that is too large | POST /logs/x | 413 PostBodyTooLarge |  | = | content-length: \((10 << 20) + 1)
        GET on a logstore | GET /logstores/app-log | 405 InvalidMethod | POST, OPTIONS
        PutLogs to another logstore | POST /logstores/nope/shards/lb | 404 LogStoreNotExist | logstore nope does not exist
        PutLogs without a body | POST \(balanced) | 400 PostBodyInvalid | the body is empty | =
        no protobuf | POST /logstores/app-log | 400 PostBodyInvalid | at byte | =hello
        no JSON where that was said | POST \(balanced) | 400 PostBodyInvalid | at byte | =hello | content-type: application/json; charset=utf-8
        a route without a key | POST \(routed) | 400 MissingParameter | needs key
        a key that is too short | POST \(routed)?key=0123 | 400 ParameterInvalid | key is not 32
        a key of other digits | POST \(routed)?key=g123456789abcdef0123456789abcdef | 400 ParameterInvalid | is not 32
        a number that is none | POST \(routed)?\(key)&seqid=-1 | 400 ParameterInvalid | seqid is not a number
        a query that ends in an escape | POST \(routed)?\(key)&seqid=%3 | 400 ParameterInvalid | no escape
        a picture without fields | GET \(track).gif?APIVersion=0.6.0&__topic__=t | 400 ParameterInvalid | the query has no field
        GET without a query | GET \(track) | 400 ParameterInvalid | the query has no field
        a long topic | GET \(track)?k=v&__topic__=\(String(repeating: "t", count: 129)) | 400 ParameterInvalid | __topic__ must not exceed 128 bytes
        GET with a body | GET \(track)?k=v | 400 ParameterInvalid | takes no body | ={}
        a picture of another logstore | GET /logstores/nope/track.gif?k=v | 404 LogStoreNotExist | logstore nope does not exist
        POST to a picture | POST \(track)_ua.gif | 405 InvalidMethod | GET, HEAD, OPTIONS
        """.split(separator: "\n").map { BadRequest(row: String($0)) }

    private init(row: String) {
        let cells = row.split(separator: " | ", omittingEmptySubsequences: false).map(String.init)
        let text = cells[4...].first { $0.hasPrefix("=") }.map { String($0.dropFirst()) }
        let fields = cells[4...].filter { !$0.hasPrefix("=") }.map { field in
            let parts = field.split(separator: ": ")
            return (String(parts[0]), String(parts[1]))
        }
        self.init(cells[0], cells[1], cells[2], cells[3], text: text, fields: fields)
    }

    private static let withBytes: [BadRequest] = [
        .init(
            "bytes that are no UTF-8, where they are to be refused",
            "POST /logs/x?on_error=refuse",
            "400 PostBodyInvalid",
            "UTF-8",
            body: Array(#"{"a":""#.utf8) + [0xff] + Array(#""}"#.utf8)
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
            "a size that is not the content's",
            "POST \(track)",
            "400 PostBodyUncompressError",
            "9",
            body: Deflate.compress(Array("{}".utf8)),
            fields: [("x-log-compresstype", "deflate"), ("x-log-bodyrawsize", "9")]
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
            "a LogGroup that ends early",
            "POST \(balanced)",
            "400 PostBodyInvalid",
            "(at byte 0)",
            body: group.dropLast()
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
