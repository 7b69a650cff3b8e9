import Configuration
import Logs
import Queue
import System
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct LokiPushTests {
    private let end: DeviceListener

    init() throws { end = try DeviceListener() }

    private static let path = "/loki/api/v1/push"
    private static let json = ["content-type": "application/json; charset=utf-8"] as KeyValuePairs
    private static let protobuf = ["content-type": "application/x-protobuf"] as KeyValuePairs
    private static let now = WallTime.now.seconds - 60

    /// One stream; its lines are a nanosecond apart.
    private static func text(_ labels: String, _ lines: String...) -> String {
        let values = lines.enumerated().map {
            #"["\#(now)00000000\#($0.offset)","\#($0.element)"]"#
        }
        return
            #"{"streams":[{"stream":{\#(labels)},"values":[\#(values.joined(separator: ","))]}]}"#
    }

    private static func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
        [number << 3 | 2, UInt8(content.count)] + content
    }

    /// A push of one line as Loki's own clients send it, in a snappy block of one literal.
    private static func block(_ labels: String, _ line: String) -> [UInt8] {
        var time: [UInt8] = [0x08]
        var rest = UInt64(now)
        while rest >= 0x80 {
            time.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        time += [UInt8(rest), 0x10, 7]
        let entry = field(2, field(1, time) + field(2, Array(line.utf8)))
        let push = field(1, field(1, Array(labels.utf8)) + entry)
        precondition(61...127 ~= push.count)
        return [UInt8(push.count), 60 << 2, UInt8(push.count - 1)] + push
    }

    private static let block = block(
        #"{app="shop", filename="/var/log/shop.log"}"#,
        "a line of log"
    )

    @Test("A push of JSON is 204 without a body, and its labels are tags")
    func pushed() throws {
        let body = Self.text(#""job":"nginx","env":"dev","host":"h1""#, "first", "second")
        let answer = try end.client.post(Self.path, body.utf8, Self.json)
        #expect(answer.status == 204)
        #expect(answer.body.isEmpty && answer["content-length"] == nil)
        #expect(answer["x-log-requestid"]?.utf8.count == 24)
        let batch = try #require(end.queue.stored.first)
        #expect(batch.stream.destination == "app" && batch.stream.logstore == "app-log")
        #expect(batch.stream.trailer.topic == "nginx")
        // The operator's word counts more.
        #expect(batch.tags == ["host=h1", "job=nginx", "env=prod"])
        let logs = try batch.entries()
        #expect(
            logs.map(\.texts) == [
                ["content=first"], ["content=second"],
            ]
        )
        #expect(logs.map { Int64($0.time.seconds) } == [Self.now, Self.now])
        #expect(logs.map(\.time.nanoseconds) == [0, 1])
    }

    @Test(
        "Protobuf comes in snappy, said or not",
        arguments: ["content-type: application/x-protobuf", "content-encoding: snappy", "x: y"]
    )
    func protobuf(field: String) throws {
        let parts = field.split(separator: ": ").map(String.init)
        let answer = try end.client.post(Self.path, Self.block, [parts[0]: parts[1]])
        #expect(answer.status == 204, "\(answer.text)")
        let batch = try #require(end.queue.stored.first)
        #expect(batch.tags == ["app=shop", "filename=/var/log/shop.log", "env=prod"])
        #expect(batch.stream.trailer.topic == "shop")
        let log = try #require(try batch.entries().first)
        #expect(log.fields.map(\.value) == ["a line of log"])
        #expect(Int64(log.time.seconds) == Self.now && log.time.nanoseconds == 7)
    }

    @Test("Each set of labels is a batch, and all of them are stored together")
    func streams() throws {
        let body = #"""
            {"streams":[{"stream":{"app":"a","job":"j"},"values":[["\#(Self.now)000000000","1"]]},
            {"stream":{"job":"j"},"values":[["\#(Self.now)000000000","2"]]},
            {"stream":{"level":"x"},"values":[["\#(Self.now)000000000","3"]]},
            {"stream":{"job":"j","app":"a"},"values":[["\#(Self.now)000000000","4"]]}]}
            """#
        #expect(try end.client.post(Self.path, body.utf8, Self.json).status == 204)
        #expect(end.queue.identities.count == 1)
        #expect(end.queue.stored.map(\.logs.count) == [2, 1, 1])
        #expect(end.queue.stored.map(\.stream.trailer.topic) == ["a", "j", "loki"])
    }

    @Test("The service's name is the topic before all others, cut to what SLS takes")
    func topics() throws {
        let long = String(repeating: "世", count: 50)
        let body = Self.text(#""app":"a","job":"j","service_name":"\#(long)""#, "x")
        #expect(try end.client.post(Self.path, body.utf8, Self.json).status == 204)
        let topic = try #require(end.queue.stored.first).stream.trailer.topic
        #expect(topic == String(repeating: "世", count: 42))
    }

    @Test("What the destination says and what a header says decides where the logs go")
    func places() throws {
        let body = Self.text(#""job":"j""#, "x").utf8
        let host = "other-project.gateway.test"
        let type = "application/json"
        _ = try end.client.post(Self.path, body, ["host": host, "content-type": type])
        _ = try end.client.post(
            Self.path,
            body,
            ["host": host, "content-type": type, "x-log-logstore": "pods"]
        )
        #expect(end.queue.stored.map(\.stream.logstore) == ["loki", "pods"])
        #expect(end.queue.stored.map(\.stream.trailer.topic) == ["given", "given"])
    }

    @Test("Labels are folded like any tags")
    func folded() throws {
        let end = try DeviceListener(DeviceListener.destination("fold_tags: [pod]"))
        let body = Self.text(#""job":"j","pod":"p-1""#, "x")
        #expect(try end.client.post(Self.path, body.utf8, Self.json).status == 204)
        let batch = try #require(end.queue.stored.first)
        #expect(batch.tags == ["job=j", "env=prod"])
        let fields = try batch.fields()[0]
        #expect(fields == ["__tag__:pod=p-1", "content=x"])
    }

    @Test("The tenant is a tag, and must be one")
    func tenant() throws {
        let body = Self.text(#""job":"j""#, "x").utf8
        let type = "application/json"
        let taken = try end.client.post(
            Self.path,
            body,
            ["content-type": type, "X-Scope-OrgID": "team-7"]
        )
        #expect(taken.status == 204)
        #expect(end.queue.stored[0].tags == ["job=j", "__tenant_id__=team-7", "env=prod"])
        for name in ["a|b", "a b", "é", String(repeating: "a", count: 151)] {
            let answer = try end.client.post(
                Self.path,
                body,
                ["content-type": type, "x-scope-orgid": name]
            )
            #expect(answer.status == 400)
            #expect(answer.text.hasPrefix("ParameterInvalid: X-Scope-OrgID names one tenant"))
        }
    }

    @Test("A push that comes again is recognised by its content, as Loki does")
    func again() throws {
        for line in ["a", "a", "b"] {
            _ = try end.client.post(Self.path, Self.text(#""job":"j""#, line).utf8, Self.json)
        }
        let type = "application/json"
        let body = Self.text(#""job":"j""#, "a").utf8
        _ = try end.client.post(Self.path, body, ["content-type": type, "x-scope-orgid": "t"])
        let digests = end.queue.identities.compactMap(\.?.digest)
        #expect(digests.count == 4 && Set(digests).count == 3)
        #expect(digests[0] == digests[1])
    }

    @Test("Lines without a time may be alike, so a push with one is not recognised")
    func untimed() throws {
        let entry = Self.field(2, Self.field(2, Array("alive".utf8)))
        let push = Self.field(1, Self.field(1, Array(#"{app="shop"}"#.utf8)) + entry)
        let block = [UInt8(push.count), UInt8(push.count - 1) << 2] + push
        #expect(try end.client.post(Self.path, block, Self.protobuf).status == 204)
        #expect(end.queue.stored.count == 1 && end.queue.identities == [nil])
    }

    @Test("Agents ask whether it is ready")
    func ready() throws {
        let answer = try end.client.get("/ready")
        #expect(answer.status == 200 && answer.text == "ready\n")
        #expect(end.queue.stored.isEmpty)
    }

    @Test(
        "Refusals are a line of text and the status that makes agents drop",
        arguments: [
            (
                "application/json", #"{"streams":[{"values":[["x","a"]]}]}"#, "", 400,
                "PostBodyInvalid"
            ),
            ("application/json", "{}", "", 400, "PostBodyInvalid"),
            ("application/json", "{}", "gzip", 400, "PostBodyUncompressError"),
            ("application/json", "{}", "snappy", 400, "PostBodyUncompressError"),
            ("application/json", "{}", "br", 415, "InvalidCompressType"),
            ("application/x-protobuf", "\u{1}", "", 400, "PostBodyUncompressError"),
            ("application/x-protobuf", "", "", 400, "PostBodyUncompressError"),
            ("application/x-protobuf", "\u{2}\u{4}ab", "", 400, "PostBodyInvalid"),
            ("application/x-protobuf", "x", "gzip", 415, "InvalidCompressType"),
            ("text/plain", "{}", "", 415, "ContentTypeInvalid"),
        ]
    )
    func refused(type: String, body: String, coding: String, status: Int, code: String) throws {
        let answer = try end.client.post(
            Self.path,
            body.utf8,
            ["content-type": type, "content-encoding": coding]
        )
        #expect(answer.status == status)
        #expect(answer["content-type"] == "text/plain; charset=utf-8")
        #expect(answer.text.hasPrefix("\(code): ") && answer.text.hasSuffix("\n"), "\(answer.text)")
        #expect(answer["retry-after"] == nil)
        #expect(end.queue.stored.isEmpty)
    }

    @Test("A queue that takes nothing is 503, so that agents try again")
    func busy() throws {
        end.queue.say(.full)
        let answer = try end.client.post(Self.path, Self.block, Self.protobuf)
        #expect(answer.status == 503)
        #expect(answer["retry-after"] == "1")
        #expect(answer.text.hasPrefix("ServerBusy: the queue is full"))
    }

    @Test("A push in snappy may become as large as any body, and no larger")
    func tooLarge() throws {
        let end = try DeviceListener(limits: { $0.inflatedBytes = 64 })
        let answer = try end.client.post(Self.path, Self.block, Self.protobuf)
        #expect(answer.status == 413)
        #expect(answer.text.hasPrefix("PostBodyTooLarge: the inflated body exceeds 64 bytes"))
    }

    @Test("A push that is cut anywhere stores nothing, and the connection's other requests do")
    func cut() throws {
        for count in 1..<Self.block.count {
            let answer = try end.client.post(Self.path, Self.block.prefix(count), Self.protobuf)
            #expect(answer.status == 400, "\(count)")
        }
        #expect(end.queue.stored.isEmpty)
    }

    @Test(
        "With keys, agents show theirs as a password or a token",
        arguments: ["Bearer 0123456789abcdef", "Basic eDowMTIzNDU2Nzg5YWJjZGVm", "Bearer no"]
    )
    func keys(authorization: String) throws {
        let end = try DeviceListener(keys: "{ name: agents, key: 0123456789abcdef }")
        let answer = try end.client.post(
            Self.path,
            Self.block,
            ["content-type": "application/x-protobuf", "authorization": authorization]
        )
        #expect(answer.status == (authorization == "Bearer no" ? 401 : 204))
        if answer.status == 401 { #expect(answer.text.hasPrefix("Unauthorized: ")) }
    }
}
