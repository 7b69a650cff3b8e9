import Configuration
import Logs
import Queue
import Routing
import System
import TestSupport
import Testing

@testable import Ingest

/// Steps that make several logs, times, topics and sources, and conditions about requests, from
/// request to batch.
@Suite(.timeLimit(.minutes(1))) struct SplitLogTests {
    private func fields(_ batch: Batch) throws -> [String] {
        try batch.entries().map { log in
            log.fields.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        }
    }

    @Test("What split adds counts as received, and the ledger closes")
    func ledger() throws {
        let end = try RouteTests.listener(
            """
            filters:
              - steps:
                  - split: { field: items, as: item }
                  - { drop: true, when: { field: item, is: "2" } }
            """
        )
        let answer = try end.client.post("/logs/xyz", #"[{"items":[1,2,3]},{"a":1}]"#.utf8)
        #expect(answer.status == 200 && answer.text.contains(#""count":2"#), "\(answer.text)")
        #expect(try end.queue.stored.map { try fields($0) } == [["item=1", "item=3", "a=1"]])
        #expect(
            end.queue.tally == IntakeTally(received: 4, filtered: 1, routed: 3, copies: 3)
        )
        #expect(end.queue.tally.isClosed)
    }

    @Test("A topic of a log's own makes a stream of its own, and passes the redactions")
    func topics() throws {
        let end = try DeviceListener(
            """
            filters:
              - steps:
                  - { topic: "{{field:screen}}", when: { field: screen, exists: true } }
                  - { source: "{{client_ip}}", when: { field: screen, exists: true } }
                  - redact: { fields: [__topic__], pattern: email, with: "#" }
            \(DeviceListener.destination(""))
            """
        )
        let body = #"[{"screen":"home"},{"n":1},{"screen":"joe@example.com"},{"screen":"home"}]"#
        #expect(try end.client.post("/logs/xyz?topic=own&source=s", body.utf8).status == 200)
        let streams = end.queue.stored.map { batch in
            "\(batch.stream.trailer.topic) \(batch.stream.trailer.source) \(batch.logs.count)"
        }
        #expect(streams == ["home 127.0.0.1 2", "own s 1", "# 127.0.0.1 1"])
    }

    @Test("An SDK's topic can be set for each log")
    func topicOfSDK() throws {
        let end = try DeviceListener(
            """
            filters: [{ steps: [{ topic: "{{field:screen}}" }] }]
            \(DeviceListener.destination(""))
            """
        )
        let body = #"{"__topic__":"app","__logs__":[{"screen":"a"},{"screen":"b"}]}"#
        #expect(try end.client.post(BadRequest.track, body.utf8).status == 200)
        #expect(end.queue.stored.map(\.stream.trailer.topic) == ["a", "b"])
    }

    @Test("More topics than a request may make leave the other logs with their own")
    func manyTopics() throws {
        let end = try DeviceListener(
            """
            filters: [{ name: t, steps: [{ topic: "{{field:n}}" }] }]
            \(DeviceListener.destination(""))
            """
        ) { $0.json.batches = 8 }
        let logs = (0..<20).map { #"{"n":\#($0)}"# }.joined(separator: ",")
        #expect(try end.client.post("/logs/xyz", "[\(logs)]".utf8).status == 200)
        #expect(end.queue.stored.count == 9)
        #expect(end.queue.stored.reduce(0) { $0 + $1.logs.count } == 20)
        #expect(end.shared.filters.counts.first?.counts[.failed] == 12)
    }

    @Test("A step's time is under the destination's rules for late logs, as a device's is")
    func lateTimes() throws {
        let end = try DeviceListener(
            """
            filters: [{ steps: [{ time: { field: ts, format: "%Y-%m-%d" } }] }]
            \(DeviceListener.destination("late_logs: dead_letter"))
            """
        )
        let body = #"[{"ts":"2001-01-01"},{"ts":"noon"}]"#
        #expect(try end.client.post("/logs/xyz", body.utf8).status == 200)
        let batch = try #require(end.queue.stored.first)
        #expect(try fields(batch) == ["ts=noon"])
        #expect(batch.dead.map(\.logs.count) == [1])
    }

    @Test(
        "Conditions ask the query, header fields, host, method and path of the request",
        arguments: [
            "{ query: app, is: shop }", "{ header: X-App, in: [a, shop] }",
            "{ host: \"log.*\" }", "{ method: POST }", "{ path: [/x, \"/logs/pv.*\"] }",
            "{ all: [{ not: { query: none, exists: true } }, { method: [PUT, POST] }] }",
        ]
    )
    func requests(condition: String) throws {
        let end = try DeviceListener(
            """
            filters_headers: [x-app]
            filters: [{ steps: [{ drop: true, when: \(condition) }] }]
            \(DeviceListener.twoDestinations)
            """
        )
        let fields: KeyValuePairs = ["host": "Log.example.com:8080", "x-app": "shop"]
        let path = "/logs/pv.home?_=1&app=sh%6Fp"
        #expect(try end.client.post(path, #"{"a":1}"#.utf8, fields).status == 200)
        #expect(end.queue.stored.isEmpty)
        #expect(end.shared.counters.content[.filtered] == 1)
    }

    @Test(
        "The request in a question of the tester is what conditions ask",
        arguments: [
            ("POST /logs/x?app=a%20b\nX-App: shop\nhost: h:1", "app", "x-app", "h", "a b", "shop"),
            ("GET /?app", "app", "none", nil, "", nil), ("GET /x?a=1", "app", "app", nil, nil, nil),
        ] as [(String, String, String, String?, String?, String?)]
    )
    func asked(
        text: String,
        query: String,
        header: String,
        host: String?,
        parameter: String?,
        value: String?
    ) throws {
        let request = try #require(AskedRequest(text))
        func shown(_ bytes: [UInt8]?) -> String? {
            bytes.map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(shown(request.text(of: .host)) == host)
        #expect(shown(request.text(of: .query(query))) == parameter)
        #expect(shown(request.text(of: .header(header))) == value)
        #expect(AskedRequest("POST") == nil && AskedRequest("") == nil)
    }
}
