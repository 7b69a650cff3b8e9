import Configuration
import HTTP
import Logs
import Queue
import Routing
import System
import TestSupport
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(10))) struct FilteredLogTests {
    @Test("What filters drop counts in the answer, and is not stored")
    func dropped() throws {
        let end = try RouteTests.listener(
            """
            filters:
              - { name: debug, match: "x.*", steps: [{ drop: true, when: { field: level, is: debug } }] }
            """
        )
        let some = try end.client.post(
            "/logs/x.y",
            #"[{"level":"debug"},{"level":"info"},{"level":"debug"}]"#.utf8
        )
        #expect(some.status == 200 && some.text.contains(#""count":3"#), "\(some.text)")
        #expect(try end.queue.stored.map { try $0.lines() } == [["level=info"]])
        let none = try end.client.post("/logs/x.y", #"{"level":"debug"}"#.utf8)
        #expect(none.status == 200 && none.text.contains(#""count":1"#), "\(none.text)")
        #expect(none["x-log-requestid"]?.utf8.count == 24)
        #expect(end.queue.stored.count == 1)
        #expect(end.shared.counters.content[.filtered] == 3)
        #expect(
            end.queue.tally == IntakeTally(received: 4, filtered: 3, routed: 1, copies: 1)
        )
        let accepted = try #require(end.shared.counters.accepted.first { $0.route == "logs" })
        #expect(accepted.counts[.requests] == 2 && accepted.counts[.logs] == 4)
        let counts = try #require(end.shared.filters.counts.first)
        #expect(
            counts.filter == "debug" && counts.counts[.seen] == 4 && counts.counts[.dropped] == 3
        )
    }

    @Test("A filter's tag changes the logstore and the topic of a tag's address")
    func retagged() throws {
        let end = try DeviceListener(
            """
            filters: [{ match: "old.*", steps: [{ tag: "new.{{captured}}" }] }]
            \(DeviceListener.destination(""))
            """
        )
        let answer = try end.client.post("/logs/old.x", #"{"a":1}"#.utf8)
        #expect(answer.status == 200)
        let batch = try #require(end.queue.stored.first)
        #expect(batch.stream.logstore == "new" && batch.stream.trailer.topic == "new.x")
    }

    @Test("A topic that a filter's tag makes passes the redactions of the filter")
    func retaggedTopic() throws {
        let end = try DeviceListener(
            """
            filters:
              - steps:
                  - tag: "u.{{field:user}}"
                  - redact: { fields: [user, __topic__], pattern: email, with: "#" }
            \(DeviceListener.destination(""))
            """
        )
        let body = #"{"user":"joe@example.com"}"#
        #expect(try end.client.post("/logs/pv.x", body.utf8).status == 200)
        let batch = try #require(end.queue.stored.first)
        #expect(batch.stream.trailer.topic == "#")
        #expect(try batch.lines() == ["user=#"])
    }

    @Test("Logs with changed tags: the suite of Puree for iOS")
    func suite() throws {
        let end = try RouteTests.listener(
            """
            filters:
              - { match: "filter.test", steps: [{ tag: "{{tag}}XXX" }] }
              - { match: "filter.append.**", steps: [{ set: { ext: "{{captured}}" } }] }
            routes:
              - { match: "filter.testXXX", to: [archive] }
              - { match: "filter.append.**", to: [any] }
            unrouted: drop
            """
        )
        for (number, tag) in ["filter.test", "filter.test", "debug", "filter.testXXX"].enumerated()
        {
            let answer = try end.client.post("/logs/\(tag)", #"{"n":\#(number)}"#.utf8)
            #expect(answer.status == 200)
        }
        #expect(end.queue.stored.map(\.stream.destination) == ["archive", "archive", "archive"])
        #expect(try end.queue.stored.flatMap { try $0.lines() } == ["n=0", "n=1", "n=3"])
        let tags = ["filter.append", "filter.append.xxx", "debug", "filter.append.yyy"]
        for tag in tags {
            let answer = try end.client.post("/logs/\(tag)", #"{"a":1}"#.utf8)
            #expect(answer.status == 200)
        }
        let appended = try end.queue.stored.dropFirst(3).flatMap { try $0.lines() }
        #expect(appended == ["a=1 ext=", "a=1 ext=xxx", "a=1 ext=yyy"])
    }

    @Test("A reload replaces filters and routes")
    func reloaded() throws {
        let end = try RouteTests.listener("routes: [{ match: \"**\", to: [archive] }]")
        #expect(try end.client.post("/logs/pages", #"{"a":1}"#.utf8).status == 200)
        let other = try RouteTests.listener(
            "filters: [{ steps: [{ remove: [a] }] }]\nroutes: [{ match: \"**\", to: [any] }]"
        )
        end.shared.routes.replace(other.shared.routes.value)
        #expect(try end.client.post("/logs/pages", #"{"a":1,"b":2}"#.utf8).status == 200)
        #expect(end.queue.stored.map(\.stream.destination) == ["archive", "any"])
        #expect(try end.queue.stored.map { try $0.lines() } == [["a=1"], ["b=2"]])
    }

    @Test("A full destination is refused before the body, unless a filter decides")
    func admission() throws {
        let end = try RouteTests.listener(
            """
            filters: [{ match: "drop.*", steps: [{ drop: true }] }]
            routes: [{ match: "**", to: [archive] }]
            """
        )
        end.queue.say(.destinationFull, forDestination: "archive")
        let refused = try end.client.post("/logs/t", #"{"a":1}"#.utf8)
        #expect(refused.status == 503)
        #expect(refused.text.contains("the destination archive"), "\(refused.text)")
        #expect(try end.client.post("/logs/drop.t", #"{"a":1}"#.utf8).status == 200)
        #expect(end.queue.stored.isEmpty)
    }

    @Test("A request that filters leave nothing of is remembered")
    func rememberedWithoutLogs() throws {
        let end = try RouteTests.listener("filters: [{ steps: [{ drop: true }] }]")
        let first = Array("0123456789ABCDEF01234567".utf8)
        let key = ["idempotency-key": "n1"] as KeyValuePairs
        #expect(try end.client.post("/logs/pv.a", #"{"a":1}"#.utf8, key).status == 200)
        end.queue.outcome.withLock { $0 = .repeated(receipt: first, logs: 1) }
        let again = try end.client.post("/logs/pv.a", #"{"a":1}"#.utf8, key)
        #expect(again["x-log-requestid"] == "0123456789ABCDEF01234567")
        try #require(end.queue.identities.count == 2)
        #expect(end.queue.identities[0]?.digest == end.queue.identities[1]?.digest)
        #expect(end.queue.tally == IntakeTally(received: 1, filtered: 1))
        #expect(end.shared.counters.content[.filtered] == 1)
        // Without a name nothing has to be written.
        #expect(try end.client.post("/logs/pv.a", #"{"a":1}"#.utf8).status == 200)
        #expect(end.queue.identities.count == 2)
        #expect(end.queue.tally == IntakeTally(received: 2, filtered: 2))
    }

    @Test("A request that filters leave nothing of is refused while the gateway drains")
    func draining() throws {
        let end = try RouteTests.listener("filters: [{ steps: [{ drop: true }] }]")
        let connection = try end.client.opened(
            sending: "POST /logs/x HTTP/1.1\r\nhost: h\r\nconnection: close\r\n"
                + "content-length: 7\r\n\r\n{\"a\""
        )
        #expect(eventually { end.server.counters[.heldBodies] == 7 })
        end.shared.intake.turn(off: true)
        connection.send(":1}")
        let answer = connection.rest()
        #expect(answer.hasPrefix("HTTP/1.1 503 "), "\(answer)")
        #expect(end.queue.tally == IntakeTally())
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
        #expect(try end.queue.stored.map { try $0.lines() } == [["item=1", "item=3", "a=1"]])
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
        #expect(try batch.lines() == ["ts=noon"])
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
