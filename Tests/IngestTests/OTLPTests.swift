import Configuration
import HTTP
import Ingest
import Logs
import Queue
import System
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct OTLPTests {
    private let end: DeviceListener

    init() throws { end = try DeviceListener() }

    private static let protobuf = ["content-type": "application/x-protobuf"] as KeyValuePairs
    private static let json = ["content-type": "application/json; charset=utf-8"] as KeyValuePairs

    private static func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
        [number << 3 | 2, UInt8(content.count)] + content
    }

    /// Logs of service `shop` with these bodies; nil is a log from 1970.
    private static func request(_ bodies: [String?]) -> [UInt8] {
        let records = bodies.flatMap { body in
            let content = body.map { field(5, field(1, Array($0.utf8))) }
            return field(2, content ?? [0x09, 1, 0, 0, 0, 0, 0, 0, 0])
        }
        let name = field(1, Array("service.name".utf8)) + field(2, field(1, Array("shop".utf8)))
        return field(1, field(1, field(1, name)) + field(2, records))
    }

    private static func text(_ bodies: [String?]) -> String {
        let records = bodies.map { body in
            body.map { #"{"body":{"stringValue":"\#($0)"}}"# } ?? #"{"timeUnixNano":"1"}"#
        }
        return #"{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":"#
            + #"{"stringValue":"shop"}}]},"scopeLogs":[{"logRecords":["#
            + "\(records.joined(separator: ","))]}]}]}"
    }

    @Test("Both encodings are one batch, and the answer is an empty message in the same one")
    func accepted() throws {
        let first = try end.client.post("/v1/logs", Self.request(["a", "b"]), Self.protobuf)
        #expect(first.status == 200 && first.body.isEmpty)
        #expect(first["content-type"] == "application/x-protobuf")
        #expect(first["x-log-requestid"]?.utf8.count == 24)
        let second = try end.client.post("/v1/logs", Self.text(["a", "b"]).utf8, Self.json)
        #expect(second.status == 200 && second.text == "{}")
        #expect(second["content-type"] == "application/json")
        #expect(end.queue.stored.count == 2)
        for batch in end.queue.stored {
            #expect(batch.stream.destination == "app" && batch.stream.logstore == "app-log")
            #expect(batch.stream.trailer.topic == "otlp")
            let logs = try batch.entries().map { log in
                log.fields.filter { ["service", "content"].contains($0.key) }.map(\.value)
            }
            #expect(logs == [["shop", "a"], ["shop", "b"]])
        }
        let counts = end.shared.counters.accepted.first { $0.route == "otlp" }?.counts
        #expect(counts?[.logs] == 4)
    }

    @Test("Headers say where the logs go, as an exporter can be told them")
    func headers() throws {
        let fields =
            [
                "content-type": "application/x-protobuf", "x-log-project": "other-project",
            ] as KeyValuePairs
        let body = Self.request(["a"])
        #expect(try end.client.post("/v1/logs", body, fields).status == 200)
        let named =
            [
                "content-type": "application/x-protobuf", "x-log-project": "other-project",
                "x-log-logstore": "shop-log",
            ] as KeyValuePairs
        #expect(try end.client.post("/v1/logs", body, named).status == 200)
        #expect(end.queue.stored.map(\.stream.destination) == ["any", "any"])
        #expect(end.queue.stored.map(\.stream.logstore) == ["otlp", "shop-log"])
        #expect(end.queue.stored.map(\.stream.trailer.topic) == ["given", "given"])
        let nowhere =
            ["content-type": "application/json", "x-log-logstore": "none"] as KeyValuePairs
        let missing = try end.client.post("/v1/logs", Self.text(["a"]).utf8, nowhere)
        #expect(missing.status == 404)
        #expect(missing.text.hasPrefix(#"{"code":5,"message":"LogStoreNotExist: "#))
    }

    @Test("Logs that the rules refuse are a partial success, with the reason")
    func partial() throws {
        let dropping = try DeviceListener(DeviceListener.destination("late_logs: drop"))
        let dropped = try dropping.client.post("/v1/logs", Self.text(["a", nil]).utf8, Self.json)
        #expect(dropped.status == 200)
        #expect(
            dropped.text
                == #"{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"1 dropped: "#
                + #"their time is too far from now"}}"#
        )
        let burying = try DeviceListener(DeviceListener.destination("late_logs: dead_letter"))
        let buried = try burying.client.post("/v1/logs", Self.request([nil, nil]), Self.protobuf)
        #expect(buried.status == 200)
        // ExportLogsPartialSuccess with its count and its message.
        #expect(buried.body.starts(with: [0x0A, UInt8(buried.body.count - 2), 0x08, 2, 0x12]))
        #expect(buried.text.contains("2 set aside: the log's time lies more than "))
        #expect(burying.queue.stored.first?.dead.first?.logs.count == 2)
        let rewriting = try DeviceListener()
        let fine = try rewriting.client.post("/v1/logs", Self.text(["a", nil]).utf8, Self.json)
        #expect(fine.text == "{}")
    }

    @Test("An empty request is a success")
    func empty() throws {
        #expect(try end.client.post("/v1/logs", [], Self.protobuf).status == 200)
        #expect(try end.client.post("/v1/logs", "{}".utf8, Self.json).text == "{}")
        #expect(end.queue.stored.isEmpty)
    }

    @Test(
        "What cannot be read is a google.rpc.Status in the request's encoding, never to be repeated"
    )
    func unreadable() throws {
        let json = try end.client.post("/v1/logs", #"{"resourceLogs":1}"#.utf8, Self.json)
        #expect(json.status == 400)
        #expect(
            json.text
                == #"{"code":3,"message":"PostBodyInvalid: an array is expected here (at byte 16)"}"#
        )
        let protobuf = try end.client.post("/v1/logs", [0x0A, 9], Self.protobuf)
        #expect(protobuf.status == 400)
        #expect(protobuf["content-type"] == "application/x-protobuf")
        #expect(protobuf.body.starts(with: [0x08, 3, 0x12, UInt8(protobuf.body.count - 4)]))
        #expect(protobuf.text.hasSuffix("the field is longer than its message (at byte 0)"))
        #expect(protobuf["retry-after"] == nil)
        #expect(end.queue.stored.isEmpty)
    }

    @Test("Another content type is 415, and the answer says which there are")
    func contentTypes() throws {
        for fields in [[:], ["content-type": "text/plain"]] as [KeyValuePairs<String, String>] {
            let answer = try end.client.post("/v1/logs", Self.request(["a"]), fields)
            #expect(answer.status == 415)
            #expect(answer["accept"] == "application/x-protobuf, application/json")
            #expect(answer["accept-encoding"] == nil)
            #expect(answer.text.contains("application/x-protobuf"))
        }
        let got = try end.client.get("/v1/logs")
        #expect(got.status == 405 && got["allow"] == "POST, OPTIONS")
    }

    @Test(
        "A queue that takes nothing is 503 with the time to wait, which exporters obey",
        arguments: [QueueAdmission.full, .diskFull, .failing, .stopping]
    )
    func busy(admission: QueueAdmission) throws {
        end.queue.say(admission)
        let answer = try end.client.post("/v1/logs", Self.request(["a"]), Self.protobuf)
        #expect(answer.status == 503)
        #expect(answer["retry-after"] == "1")
        #expect(answer.body.starts(with: [0x08, 14, 0x12]))
    }

    @Test("Bodies that are too large are 413, also when the server finds it")
    func tooLarge() throws {
        let end = try DeviceListener { $0.bodyBytes = 40 }
        let answer = try end.client.post("/v1/logs", Self.request(["a", "b"]), Self.protobuf)
        #expect(answer.status == 413)
        #expect(answer["content-type"] == "application/x-protobuf")
        #expect(answer.body.starts(with: [0x08, 8, 0x12]))
    }

    @Test("A batch that would become too large is taken in less room")
    func lean() throws {
        let end = try DeviceListener { $0.inflatedBytes = 4000 }
        let bodies = [String?](repeating: "a", count: 60)
        #expect(try end.client.post("/v1/logs", Self.text(bodies).utf8, Self.json).text == "{}")
        let entries = try #require(end.queue.stored.first).entries()
        #expect(entries.count == 60)
        #expect(entries.allSatisfy { $0.fields.map(\.value) == ["shop", "a"] })
    }

    /// Logs of a pod that says so much of itself.
    private static func pod(_ bytes: Int, _ records: Int) -> String {
        let name = String(repeating: "p", count: bytes)
        let record = #"{"body":{"stringValue":"\#(String(repeating: "b", count: 300))"}}"#
        let list = [String](repeating: record, count: records).joined(separator: ",")
        return #"{"resourceLogs":[{"resource":{"attributes":[{"key":"host.name","value":"#
            + #"{"stringValue":"h"}},{"key":"pod","value":{"stringValue":"\#(name)"}}]},"#
            + #""scopeLogs":[{"logRecords":[\#(list)]}]}]}"#
    }

    @Test("What thousands of logs share is a tag, or in the first where tags have no room")
    func apart() throws {
        for bytes in [2500, 9000] {
            let body = Array(Self.pod(bytes, 8192).utf8)
            let answer = try end.client.post("/v1/logs", body, Self.json)
            #expect(answer.status == 200, "\(answer.text)")
        }
        let few = try #require(end.queue.stored.first)
        let many = try #require(end.queue.stored.last)
        #expect(few.stream.trailer.topic == "otlp" && many.stream.trailer.topic == "otlp")
        #expect(few.stream.trailer.tags.map(\.key) == ["host", "resource", "env"])
        #expect(few.stream.trailer.tags[1].value.hasPrefix("{\"pod\":\"ppp"))
        #expect(try few.entries().allSatisfy { $0.fields.map(\.key) == ["content"] })
        let tags = many.tags
        #expect(tags == ["host=h", "__truncated__=resource", "env=prod"])
        let entries = try many.entries()
        #expect(entries.count == 8192)
        #expect(entries[0].fields.map(\.key) == ["__tag__:resource", "content"])
        #expect(entries[1...].allSatisfy { $0.fields.map(\.key) == ["content"] })
    }

    @Test("A few compressed bytes cannot become an enormous request")
    func amplified() throws {
        let records = [String](repeating: "{}", count: 68).joined(separator: ",")
        let large = String(repeating: "a", count: 300_000)
        let body =
            #"{"resourceLogs":[{"resource":{"attributes":[{"key":"a","value":"#
            + #"{"stringValue":"\#(large)"}}]},"scopeLogs":[{"logRecords":[\#(records)]}]}]}"#
        let fields =
            ["content-type": "application/json", "content-encoding": "zstd"] as KeyValuePairs
        let answer = try end.client.post("/v1/logs", Zstd.compress(Array(body.utf8)), fields)
        #expect(answer.text == "{}")
        let batch = try #require(end.queue.stored.first)
        #expect(batch.logs.count == 68 && batch.logs.bytes.count < 400_000)
    }

    @Test("Logs that are too large as they are are 413")
    func tooLargeStored() throws {
        let end = try DeviceListener { $0.inflatedBytes = 4000 }
        let control = [UInt8](repeating: 1, count: 100)
        let value = Self.field(2, Self.field(1, control))
        let attribute = Self.field(6, Self.field(1, [0x61]) + value)
        func long(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
            [number << 3 | 2, UInt8(content.count & 0x7F) | 0x80, UInt8(content.count >> 7)]
                + content
        }
        let records = [[UInt8]](repeating: Self.field(2, attribute), count: 20).flatMap { $0 }
        let body = long(1, long(2, records))
        let answer = try end.client.post("/v1/logs", body, Self.protobuf)
        #expect(answer.status == 413, "\(body.count)")
        #expect(answer.text.contains("take more than 8000 bytes as they are stored"))
    }

    @Test("A request with an idempotency key counts once, also its partial success")
    func repeated() throws {
        let end = try DeviceListener(DeviceListener.destination("late_logs: drop"))
        let fields = ["content-type": "application/json", "idempotency-key": "k"] as KeyValuePairs
        for _ in 0..<2 {
            let answer = try end.client.post("/v1/logs", Self.text([nil]).utf8, fields)
            #expect(answer.text.contains(#""rejectedLogRecords":"1""#))
            end.queue.outcome.withLock { $0 = .repeated(receipt: Array("R".utf8), logs: 1) }
        }
        #expect(end.queue.identities.compactMap(\.?.digest).count == 2)
    }
}
