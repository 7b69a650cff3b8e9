import HTTP
import Logs
import Queue
import Routing
import System
import TestSupport
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(1))) struct FilteredLogTests {
    private func fields(_ batch: Batch) throws -> [String] {
        try batch.entries().map { log in
            log.fields.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        }
    }

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
        #expect(try end.queue.stored.map { try fields($0) } == [["level=info"]])
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
        #expect(try fields(batch) == ["user=#"])
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
        #expect(try end.queue.stored.flatMap { try fields($0) } == ["n=0", "n=1", "n=3"])
        let tags = ["filter.append", "filter.append.xxx", "debug", "filter.append.yyy"]
        for tag in tags {
            let answer = try end.client.post("/logs/\(tag)", #"{"a":1}"#.utf8)
            #expect(answer.status == 200)
        }
        let appended = try end.queue.stored.dropFirst(3).flatMap { try fields($0) }
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
        #expect(try end.queue.stored.map { try fields($0) } == [["a=1"], ["b=2"]])
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
}
