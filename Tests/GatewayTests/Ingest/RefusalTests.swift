import HTTP
import Logs
import Queue
import System
import Testing

@testable import Gateway

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

@Suite(.timeLimit(.minutes(1))) struct RefusalTests {
    static let track = "/logstores/app-log/track"

    static let table: [BadRequest] = [
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
            name: "signed paths come later",
            path: "/logstores/app-log/shards/lb",
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
            name: "bytes that are no UTF-8",
            path: "/logs/x",
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
    ]

    @Test("Every bad request gets its status and a reason", arguments: table)
    func badRequest(request: BadRequest) throws {
        let end = try DeviceEnd()
        let answer = try end.client.send(request)
        #expect(answer.status == request.status, "\(answer.text)")
        #expect(answer.text.contains(#"ode":"\#(request.code)""#), "\(answer.text)")
        #expect(answer.text.contains(request.reason), "\(answer.text)")
        #expect(answer["x-log-requestid"]?.utf8.count == 24)
        #expect(answer["x-log-time"] != nil)
        #expect(end.queue.stored.isEmpty)
        if request.path.hasPrefix("/logstores/") {
            #expect(answer.body.count <= 255)
            #expect(answer.text.hasPrefix(#"{"errorCode":""#))
        } else {
            #expect(answer.text.hasPrefix(#"{"error":{"code":""#))
        }
        if request.status == 405 { #expect(answer["allow"] != nil) }
    }

    @Test("A position is told where one is known")
    func position() throws {
        let end = try DeviceEnd()
        let answer = try end.client.post("/logs/x", #"{"a":1,}"#.utf8)
        #expect(answer.text.contains(#""position":7}"#), "\(answer.text)")
    }

    @Test(
        "A queue that takes nothing is 503, so that every SDK keeps its logs",
        arguments: [QueueAdmission.full, .diskFull, .failing, .stopping]
    )
    func busy(admission: QueueAdmission) throws {
        let end = try DeviceEnd()
        end.queue.say(admission)
        let plain = try end.client.post("/logs/x", #"{"a":1}"#.utf8)
        #expect(plain.status == 503)
        #expect(plain["retry-after"] == "1")
        let track = try end.client.post(Self.track, #"{"__logs__":[{"a":"1"}]}"#.utf8)
        #expect(track.status == 503)
        #expect(track["retry-after"] == nil)
        #expect(track.text.hasPrefix(#"{"errorCode":"ServerBusy""#))
    }

    @Test("A queue that fails with the batch in hand is 503 too")
    func refusedLate() throws {
        let end = try DeviceEnd()
        end.queue.outcome.withLock { $0 = .refused(.diskFull) }
        let answer = try end.client.post("/logs/x", #"{"a":1}"#.utf8)
        #expect(answer.status == 503)
        #expect(answer.text.contains("the disk is full"))
    }

    @Test("A bad request leaves the connection as it was")
    func connectionSurvives() throws {
        let end = try DeviceEnd()
        let bad = "POST /logs/x HTTP/1.1\r\nhost: h\r\ncontent-length: 3\r\n\r\n{a}"
        let good =
            "POST /logs/x HTTP/1.1\r\nhost: h\r\ncontent-length: 7\r\nconnection: close\r\n\r\n{\"a\":1}"
        let answer = try end.client.exchange(Array((bad + good).utf8))
        #expect(answer.status == 400)
        #expect(answer.text.contains("HTTP/1.1 200 OK"))
    }

    @Test("What the server itself refuses is answered in the client's words")
    func malformed() throws {
        let end = try DeviceEnd()
        let answer = try end.client.exchange(
            Array(
                "POST /logstores/app-log/track HTTP/1.1\r\nhost: h\r\ncontent-length: -1\r\n\r\n"
                    .utf8
            )
        )
        #expect(answer.status == 400)
        #expect(answer["x-log-requestid"] != nil)
        #expect(answer.text.contains(#"ode":"ParameterInvalid""#))
    }

    @Test("Refusals are counted by route, status and code")
    func counted() throws {
        let end = try DeviceEnd()
        _ = try end.client.post("/logs/x", "no".utf8)
        _ = try end.client.post("/logs/x", #"{"a":1}"#.utf8)
        #expect(end.shared.counters.refused.map(\.kind.code) == ["PostBodyInvalid"])
        #expect(end.shared.counters.accepted.first { $0.route == "logs" }?.counts.logs == 1)
    }

    @Test(
        "A message is cut so that the body is JSON of at most 255 bytes",
        arguments: ["x", "世", "\"", "\u{1}", "😀"]
    )
    func cut(character: String) {
        let body = slsErrorBody(
            code: "PostBodyInvalid",
            message: String(repeating: character, count: 300)
        )
        #expect(body.utf8.count <= 255)
        #expect(body.utf8.count > 240)
        #expect(body.hasSuffix("\"}"))
    }
}

extension Client {
    func send(_ request: BadRequest) throws -> Answer {
        var head = "\(request.method) \(request.path) HTTP/1.1\r\nconnection: close\r\n"
        let names = request.fields.map(\.0)
        if !names.contains("host") { head += "host: gateway.test\r\n" }
        if !names.contains("content-length") { head += "content-length: \(request.body.count)\r\n" }
        for (name, value) in request.fields { head += "\(name): \(value)\r\n" }
        return try exchange(Array((head + "\r\n").utf8) + request.body)
    }
}
