import Logs
import TestSupport
import Testing

/// A request, and what the developer who sent it is told.
struct BadRequest: Sendable, CustomTestStringConvertible {
    let name: String
    var method = "POST"
    let path: String
    var body: [UInt8] = Array("{}".utf8)
    var fields: [(String, String)] = []
    let status: Int
    let code: String
    let reason: String

    var testDescription: String { name }
}

extension BadRequest {
    static let track = "/logstores/app-log/track"

    static let table: [BadRequest] =
        [
            .init(
                name: "no such path",
                path: "/nowhere",
                status: 404,
                code: "PathNotExist",
                reason: "no such path"
            ),
            .init(
                name: "a tag with a slash",
                path: "/logs/a/b",
                status: 404,
                code: "PathNotExist",
                reason: "no such path"
            ),
            .init(
                name: "no tag",
                path: "/logs/",
                status: 404,
                code: "PathNotExist",
                reason: "no such path"
            ),
            .init(
                name: "shards are not listed",
                method: "GET",
                path: "/logstores/app-log/shards",
                body: [],
                status: 404,
                code: "PathNotExist",
                reason: "no such path"
            ),
            .init(
                name: "no logstore",
                path: "/logstores//shards/lb",
                status: 404,
                code: "PathNotExist",
                reason: "no such path"
            ),
            .init(
                name: "GET on logs",
                method: "GET",
                path: "/logs/x",
                body: [],
                status: 405,
                code: "InvalidMethod",
                reason: "POST, OPTIONS"
            ),
            .init(
                name: "POST on the pulse",
                path: "/healthz",
                status: 405,
                code: "InvalidMethod",
                reason: "GET, HEAD"
            ),
            .init(
                name: "DELETE on track",
                method: "DELETE",
                path: track,
                status: 405,
                code: "InvalidMethod",
                reason: "POST, OPTIONS"
            ),
            .init(
                name: "another logstore",
                path: "/logstores/nope/track",
                status: 404,
                code: "LogStoreNotExist",
                reason: "logstore nope does not exist in project my-project"
            ),
            .init(
                name: "another project",
                path: track,
                fields: [("x-log-project", "nope")],
                status: 404,
                code: "ProjectNotExist",
                reason: "project nope does not exist here"
            ),
            .init(
                name: "a tag that is no logstore",
                path: "/logs/Not.One",
                fields: [("host", "other-project.x")],
                status: 404,
                code: "LogStoreNotExist",
                reason: "not valid"
            ),
            .init(
                name: "a tag that is no text",
                path: "/logs/%FF",
                status: 400,
                code: "ParameterInvalid",
                reason: "UTF-8"
            ),
            .init(
                name: "a tag with a control character",
                path: "/logs/a%00b",
                status: 400,
                code: "ParameterInvalid",
                reason: "control characters"
            ),
            .init(
                name: "a cut escape in the tag",
                path: "/logs/a%4",
                status: 400,
                code: "ParameterInvalid",
                reason: "UTF-8"
            ),
            .init(
                name: "no JSON",
                path: "/logs/x",
                body: Array("hello".utf8),
                status: 400,
                code: "PostBodyInvalid",
                reason: "(at byte 0)"
            ),
            .init(
                name: "JSON that ends early",
                path: "/logs/x",
                body: Array(#"{"a":"#.utf8),
                status: 400,
                code: "PostBodyInvalid",
                reason: "at byte"
            ),
            .init(
                name: "an empty body",
                path: "/logs/x",
                body: [],
                status: 400,
                code: "PostBodyInvalid",
                reason: "no log"
            ),
            .init(
                name: "bytes that are no UTF-8, where they are to be refused",
                path: "/logs/x?on_error=refuse",
                body: Array(#"{"a":""#.utf8) + [0xff] + Array(#""}"#.utf8),
                status: 400,
                code: "PostBodyInvalid",
                reason: "UTF-8"
            ),
            .init(
                name: "tracking without logs",
                path: track,
                status: 400,
                code: "PostBodyInvalid",
                reason: "__logs__"
            ),
            .init(
                name: "tracking that is no object",
                path: track,
                body: Array("[]".utf8),
                status: 400,
                code: "PostBodyInvalid",
                reason: "at byte"
            ),
            .init(
                name: "an unknown compression",
                path: track,
                fields: [("x-log-compresstype", "rar")],
                status: 400,
                code: "InvalidCompressType",
                reason: "rar is not one of"
            ),
            .init(
                name: "an unknown encoding",
                path: "/logs/x",
                fields: [("content-encoding", "br")],
                status: 415,
                code: "InvalidCompressType",
                reason: "br is not one of"
            ),
            .init(
                name: "lz4 without its size",
                path: track,
                body: LZ4.compress(Array("{}".utf8)),
                fields: [("x-log-compresstype", "lz4")],
                status: 400,
                code: "PostBodyUncompressError",
                reason: "x-log-bodyrawsize"
            ),
            .init(
                name: "a size that is no number",
                path: track,
                fields: [("x-log-compresstype", "lz4"), ("x-log-bodyrawsize", "-1")],
                status: 400,
                code: "PostBodyUncompressError",
                reason: "not a number"
            ),
            .init(
                name: "a size that is not the content's",
                path: track,
                body: Deflate.compress(Array("{}".utf8)),
                fields: [("x-log-compresstype", "deflate"), ("x-log-bodyrawsize", "9")],
                status: 400,
                code: "PostBodyUncompressError",
                reason: "9"
            ),
            .init(
                name: "no deflate at all",
                path: track,
                fields: [("x-log-compresstype", "deflate")],
                status: 400,
                code: "PostBodyUncompressError",
                reason: ""
            ),
            .init(
                name: "a bomb",
                path: "/logs/x",
                body: Deflate.compress([UInt8](repeating: 0x20, count: 9 << 20)),
                fields: [("content-encoding", "deflate")],
                status: 413,
                code: "PostBodyTooLarge",
                reason: "inflates more than"
            ),
            .init(
                name: "a body that grows too large",
                path: "/logs/x",
                body: Zstd.compress(Array(repeating: UInt8(0x20), count: 11 << 20)),
                fields: [("content-encoding", "zstd")],
                status: 413,
                code: "PostBodyTooLarge",
                reason: ""
            ),
            .init(
                name: "a body that is too large",
                path: "/logs/x",
                body: [],
                fields: [("content-length", "\((10 << 20) + 1)")],
                status: 413,
                code: "PostBodyTooLarge",
                reason: ""
            ),
        ] + putLogs + tracking
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
