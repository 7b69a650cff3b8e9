import Logs
import Queue
import System
import TestSupport
import Testing

@testable import Ingest

/// Bodies with bytes that are not UTF-8, with raw control characters, and with logs that are not
/// JSON, in each dialect.
@Suite(.timeLimit(.minutes(10))) struct DamagedBodyTests {
    private func send(
        _ path: String,
        _ body: [UInt8],
        _ fields: KeyValuePairs<String, String> = [:]
    ) throws -> (end: DeviceListener, answer: TestAnswer) {
        let end = try DeviceListener()
        return (end, try end.client.post(path, body, fields))
    }

    /// A cut character, and an escape sequence of a terminal.
    private static let damage = [0xE4, 0xB8] + Array("\u{1b}[0m".utf8)
    private static let text = "\u{FFFD}\u{1b}[0m"

    private struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let path: String
        /// The field that the text arrives in.
        let field: String
        let body: [UInt8]

        /// `~` stands where the damage is.
        init(_ name: String, _ path: String, field: String, _ body: String) {
            (testDescription, self.path, self.field) = (name, path, field)
            let parts = body.utf8.split(separator: UInt8(ascii: "~")).map { Array($0) }
            self.body = parts[0] + DamagedBodyTests.damage + parts[1]
        }

        func request(query: String = "", body: [UInt8]? = nil) -> BadRequest {
            let json = [("content-type", "application/json")]
            return BadRequest(
                testDescription,
                "POST \(path)\(query)",
                "200 OK",
                "",
                body: body ?? self.body,
                fields: json
            )
        }
    }

    private static let cases = [
        Case("plain", "/logs/x", field: "m", #"{"m":"~","n":1}"#),
        Case("web tracking", BadRequest.track, field: "m", #"{"__logs__":[{"m":"~"}]}"#),
        Case("PutLogs as JSON", BadRequest.balanced, field: "m", #"{"__logs__":[{"m":"~"}]}"#),
        Case("Elasticsearch", "/app-log/_bulk", field: "m", "{\"index\":{}}\n{\"m\":\"~\"}\n"),
        Case("Splunk", "/services/collector/event", field: "message", #"{"event":"~"}"#),
        Case(
            "Loki",
            "/loki/api/v1/push",
            field: "content",
            #"{"streams":[{"stream":{"job":"a"},"values":[["1736843400000000000","~"]]}]}"#
        ),
        Case(
            "OTLP",
            "/v1/logs",
            field: "content",
            #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"~"}}]}]}]}"#
        ),
    ]

    @Test("Damaged bytes cost no log in any dialect", arguments: cases)
    private func dialects(of request: Case) throws {
        let end = try DeviceListener()
        let answer = try end.client.send(request.request())
        #expect(200..<300 ~= answer.status, "\(answer.text)")
        let batch = try #require(end.queue.stored.first)
        let log = try #require(try batch.entries().first)
        #expect(log.fields.contains { $0.key == request.field && $0.value == Self.text }, "\(log)")
        #expect(
            log.fields.contains { $0.key == "__invalid_utf8__" && $0.value == request.field },
            "\(log)"
        )
        let content = end.shared.counters.content
        #expect(content == [.repairedRequests: 1, .repairedLogs: 1])
    }

    private static let lines = Array(
        "{\"n\":1}\n{\"n\":\n{\"n\":3}\nhello\n{\"n\":NaN}\n{\"n\":".utf8
    )

    @Test("Lines that are not JSON are dead letters, and the others are stored")
    func deadLetters() throws {
        let (end, answer) = try send("/logs/x", Self.lines)
        #expect(answer.status == 200)
        let receipt = try #require(answer["x-log-requestid"])
        #expect(
            answer.text == """
                {"receipt":"\(receipt)","count":6,"unreadable":3,"errors":[\
                {"position":13,"message":"the JSON ends too early"},\
                {"position":22,"message":"a log must be an object with its fields"},\
                {"position":43,"message":"the JSON ends too early"}]}

                """
        )
        let batch = try #require(end.queue.stored.first)
        #expect(try batch.logs.fields() == [["n=1"], ["n=3"], ["n=NaN"]])
        #expect(
            try batch.dead.flatMap { try $0.logs.fields() } == [
                ["__raw_log__={\"n\":"], ["__raw_log__=hello"], ["__raw_log__={\"n\":"],
            ]
        )
        #expect(batch.dead.allSatisfy { $0.reason.code == "LogUnreadable" })
        #expect(
            batch.dead[0].reason.message == "the JSON ends too early (at byte 13 of its body)"
        )
        #expect(
            end.shared.counters.content == [.repairedRequests: 1, .unreadableLogs: 3]
        )
    }

    @Test("An element of a web tracking request is a dead letter alone")
    func tracking() throws {
        let body = #"{"__logs__":[{"n":"1"},{"n":"C:\x"},7,{"n":"3"}],"__topic__":"t"}"#
        let (end, answer) = try send("/logstores/app-log/track", Array(body.utf8))
        #expect(answer.status == 200)
        let batch = try #require(end.queue.stored.first)
        #expect(try batch.logs.fields() == [["n=1"], ["n=3"]])
        #expect(batch.stream.trailer.topic == "t")
        #expect(
            try batch.dead.flatMap { try $0.logs.fields() } == [
                [#"__raw_log__={"n":"C:\x"}"#], ["__raw_log__=7"],
            ]
        )
    }

    @Test("Of a web tracking request that was cut off the end alone is a dead letter")
    func trackingCutOff() throws {
        let body = #"{"__topic__":"t","__logs__":[{"n":"1"},{"n":"2"},{"n":"3"#
        for (path, fields) in [
            ("/logstores/app-log/track", [:]),
            ("/logstores/app-log/shards/lb", ["content-type": "application/json"]),
        ] as [(String, KeyValuePairs<String, String>)] {
            let (end, answer) = try send(path, Array(body.utf8), fields)
            #expect(answer.status == 200, "\(answer.text)")
            let batch = try #require(end.queue.stored.first)
            #expect(try batch.logs.fields() == [["n=1"], ["n=2"]])
            #expect(batch.stream.trailer.topic == "t")
            let dead = try batch.dead.flatMap { try $0.logs.fields() }
            #expect(dead == [[#"__raw_log__={"n":"3"#]])
            #expect(batch.dead[0].reason.code == "LogUnreadable")
        }
    }

    @Test("Nothing but what cannot be read is 400, and nothing is stored")
    func nothingGood() throws {
        for (path, body) in [
            ("/logs/x", "{\"n\":\nhello"),
            ("/logstores/app-log/track", #"{"__logs__":[7,{"n":}]}"#),
        ] {
            let (end, answer) = try send(path, Array(body.utf8))
            #expect(answer.status == 400, "\(answer.text)")
            #expect(end.queue.stored.isEmpty)
        }
    }

    @Test("on_error=refuse takes a body as it is or not at all", arguments: cases)
    private func refuse(of request: Case) throws {
        // In `_bulk` each document has an answer of its own.
        let isBulk = request.testDescription == "Elasticsearch"
        for (body, isStrict) in [
            (request.body, true), (Self.lines, request.testDescription == "plain"),
        ]
        where isStrict {
            let end = try DeviceListener()
            let refusing = request.request(query: "?on_error=refuse", body: body)
            let answer = try end.client.send(refusing)
            #expect(answer.status == (isBulk ? 200 : 400), "\(answer.text)")
            #expect(end.queue.stored.isEmpty)
        }
    }

    @Test("on_error is one of two words")
    func values() throws {
        let body = Array("{}\nx".utf8)
        let (end, answer) = try send("/logs/x?on_error=keep", body)
        #expect(answer.status == 400)
        #expect(answer.text.contains("on_error is neither dead_letter nor refuse"))
        #expect(end.queue.stored.isEmpty)
        #expect(try send("/logs/x?_=1&on_error=dead_letter", body).answer.status == 200)
    }

    @Test("A repaired request is recognised when it comes again")
    func repeated() throws {
        let end = try DeviceListener()
        for body in [Self.lines, Self.lines, Self.lines + [0x20]] {
            let answer = try end.client.post("/logs/x", body, ["idempotency-key": "k"])
            #expect(answer.status == 200)
        }
        let digests = end.queue.identities.map { $0?.digest }
        #expect(digests[0] != nil && digests[0] == digests[1] && digests[1] != digests[2])
    }

    @Test("Where dead letters have their part of the queue, a body with a bad line is 400")
    func crowded() throws {
        let end = try DeviceListener()
        end.queue.keepsUnreadable.withLock { $0 = false }
        let answer = try end.client.post("/logs/x", Self.lines)
        #expect(answer.status == 400)
        #expect(
            answer.text.contains("(at byte 13); dead letters take an eighth of the queue already")
        )
        #expect(answer.text.contains(#""position":13"#))
        #expect(end.queue.stored.isEmpty)
        // What needs none is not refused.
        #expect(try end.client.post("/logs/x", Self.cases[0].body).status == 200)
    }

    @Test("A body of nothing but bad lines behind a good one is refused after a thousand")
    func many() throws {
        let good = Array("{}\n".utf8)
        let bad = Array(String(repeating: "x\n", count: 1000).utf8)
        let (end, taken) = try send("/logs/x", good + bad)
        #expect(taken.status == 200)
        #expect(end.queue.stored.first?.dead.count == 1000)
        let (other, refused) = try send("/logs/x", good + bad + Array("x".utf8))
        #expect(refused.status == 400)
        #expect(refused.text.contains("more than 1000 parts of the body cannot be read"))
        #expect(other.queue.stored.isEmpty)
    }

    private static let paths = [
        "/logs/x", BadRequest.track, "/logstores/app-log/shards/lb", "/v1/logs", "/_bulk",
        "/app/_doc", "/loki/api/v1/push", "/services/collector",
    ]

    @Test("An empty body whose head describes content is told from a bad one", arguments: paths)
    func lost(path: String) throws {
        let end = try DeviceListener()
        let marks = [
            ("x-log-bodyrawsize", "120"), ("x-log-compresstype", "lz4"),
            ("content-encoding", "gzip"),
        ]
        for (name, value) in marks {
            let answer = try end.client.send(
                "POST",
                path,
                [UInt8](),
                ["content-type": "application/json", name: value]
            )
            #expect(answer.status == 400, "\(name): \(answer.text)")
            #expect(answer.text.contains("httpBodyStream"), "\(name): \(answer.text)")
            if path.hasPrefix("/logstores/") { #expect(answer.body.count <= 255) }
        }
        let counted = end.shared.counters.refused.filter { $0.kind.code == "PostBodyLost" }
        #expect(counted.map(\.count) == [marks.count])
        #expect(end.queue.stored.isEmpty)
    }

    @Test(
        "An empty body whose head describes none is not called lost",
        arguments: ["0", "", "none", "identity"],
        paths
    )
    func empty(value: String, path: String) throws {
        let end = try DeviceListener()
        let name =
            switch value {
            case "0": "x-log-bodyrawsize"
            case "none": "x-log-compresstype"
            default: "content-encoding"
            }
        let answer = try end.client.send("POST", path, [UInt8](), [name: value])
        #expect(!answer.text.contains("PostBodyLost"), "\(answer.text)")
    }
}
