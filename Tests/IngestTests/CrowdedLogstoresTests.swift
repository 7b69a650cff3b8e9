import HTTP
import Queue
import System
import TestSupport
import Testing

@testable import Ingest

/// Bodies that name logstores of a destination which has no place for one more.
@Suite(.timeLimit(.minutes(10))) struct CrowdedLogstoresTests {
    private static let other = ["x-log-project": "other-project"] as KeyValuePairs
    private static let now = WallTime.now.seconds - 60

    private func end(without logstores: String...) throws -> DeviceListener {
        let end = try DeviceListener()
        for name in logstores { crowd(end, name) }
        return end
    }

    private func crowd(_ end: DeviceListener, _ name: String) {
        end.queue.say(.tooManyLogstores, for: Outlet(destination: "any", logstore: name))
    }

    @Test(
        "A body that names its logstores needs no place for one that nothing goes to",
        arguments: [
            ("/_bulk", "{\"index\":{\"_index\":\"app\"}}\n{}\n"),
            ("/elastic/_bulk", "{\"index\":{\"_index\":\"app\"}}\n{}\n"),
            ("/services/collector", #"{"event":"a","index":"app"}"#),
        ]
    )
    func named(path: String, body: String) throws {
        let end = try end(without: "elastic", "splunk")
        #expect(try end.client.post(path, body.utf8, Self.other).status == 200)
        #expect(end.queue.stored.map(\.stream.logstore) == ["app"])
    }

    @Test("One that the head names needs its place before the body is read")
    func chosen() throws {
        let end = try end(without: "one", "splunk")
        let fields = ["x-log-project": "other-project", "x-log-logstore": "one"] as KeyValuePairs
        let body = "{\"index\":{\"_index\":\"app\"}}\n{}\n"
        #expect(try end.client.post("/_bulk", body.utf8, fields).status == 503)
        let raw = "/services/collector/raw"
        #expect(try end.client.post(raw, "line".utf8, Self.other).status == 503)
    }

    private static let two = """
        {"index":{"_index":"app"}}
        {"a":"b","@timestamp":\(now)}
        {"create":{"_index":"typo"}}
        {"c":"d","@timestamp":\(now)}

        """

    @Test("An index without a place costs its own documents only, which clients send again")
    func parts() throws {
        let end = try end(without: "typo")
        let path = "/_bulk?filter_path=errors,items.*.status,items.*.error"
        let answer = try end.client.post(path, Self.two.utf8, Self.other)
        #expect(answer.status == 200)
        let start =
            #"{"errors":true,"items":[{"index":{"status":201}},{"create":{"status":429,"error":"#
            + #"{"type":"es_rejected_execution_exception","reason":"no room for one more logstore"#
        #expect(answer.text.hasPrefix(start), "\(answer.text)")
        #expect(end.queue.stored.map(\.stream.logstore) == ["app"])
    }

    @Test("Routes decide which destination needs a place; the default one does not count")
    func routed() throws {
        let end = try DeviceListener(
            """
            routes: [{ match: app, to: [archive] }]
            destinations:
              any:
                endpoint: https://cn-hangzhou.log.aliyuncs.com
                project: other-project
                logstore: "*"
              archive:
                endpoint: https://cn-hangzhou.log.aliyuncs.com
                project: my-archive
                logstore: all
            """
        )
        crowd(end, "app")
        let body = "{\"index\":{\"_index\":\"app\"}}\n{}\n"
        let answer = try end.client.post("/_bulk", body.utf8)
        #expect(answer.status == 200 && answer.text.contains(#""errors":false"#), "\(answer.text)")
        #expect(end.queue.stored.map(\.stream.destination) == ["archive"])
        let named = try end.client.post("/_bulk", body.utf8, Self.other)
        #expect(named.status == 200 && named.text.contains(#""status":429"#), "\(named.text)")
        end.queue.outcome.withLock { $0 = .refused(.tooManyLogstores) }
        #expect(try end.client.post("/_bulk", body.utf8).status == 503)
    }

    private func digest(_ end: DeviceListener, _ body: String) throws -> [UInt8]? {
        let count = end.queue.identities.count
        #expect(try end.client.post("/_bulk", body.utf8, Self.other).status == 200)
        try #require(end.queue.identities.count == count + 1)
        return end.queue.identities[count]?.digest
    }

    @Test("A bulk of which some was refused is recognised as long as the same comes of it")
    func again() throws {
        let end = try end(without: "typo")
        let first = try digest(end, Self.two)
        #expect(try first != nil && digest(end, Self.two) == first)
        crowd(end, "app")
        end.queue.say(.open, for: Outlet(destination: "any", logstore: "typo"))
        let second = try digest(end, Self.two)
        #expect(second != nil && second != first)
        // All of it is taken now, and must be.
        end.queue.say(.open, for: Outlet(destination: "any", logstore: "app"))
        #expect(try digest(end, Self.two) == nil)
    }

    @Test(
        "Logs without a time and an id may be alike, so a bulk with one is not recognised",
        arguments: [
            (#"{"index":{}}"#, "{}", false), (#"{"index":{"_id":"7"}}"#, "{}", true),
            (#"{"index":{}}"#, "{\"@timestamp\":\(now)}", true),
            (#"{"index":{}}"#, "{\"@timestamp\":\"noon\"}", false),
        ]
    )
    func alike(action: String, document: String, isKnown: Bool) throws {
        let action = action.replacing("{\"index\":{", with: "{\"index\":{\"_index\":\"app\",")
            .replacing(",}", with: "}")
        let end = try DeviceListener()
        let body = "\(action)\n\(document)\n{\"delete\":{\"_index\":\"app\",\"_id\":\"1\"}}\n"
        #expect(try (digest(end, body) != nil) == isKnown)
    }

    @Test("The same documents for another index of the path are another request")
    func paths() throws {
        let end = try DeviceListener()
        let body = "{\"index\":{}}\n{\"@timestamp\":\(Self.now)}\n{\"delete\":{\"_id\":\"1\"}}\n"
        for index in ["orders", "audit", "orders"] {
            #expect(try end.client.post("/\(index)/_bulk", body.utf8).status == 200)
        }
        let digests = end.queue.identities.compactMap(\.?.digest)
        #expect(digests.count == 3 && digests[0] != digests[1] && digests[0] == digests[2])
    }

    @Test("What was refused is not taken for stored when its request has a name either")
    func keyed() throws {
        let end = try end(without: "typo")
        let fields =
            ["x-log-project": "other-project", "idempotency-key": "k"] as KeyValuePairs
        for isOpen in [false, false, true] {
            if isOpen { end.queue.say(.open, for: Outlet(destination: "any", logstore: "typo")) }
            #expect(try end.client.post("/_bulk", Self.two.utf8, fields).status == 200)
        }
        let digests = end.queue.identities.compactMap(\.?.digest)
        #expect(digests.count == 3 && digests[0] == digests[1] && digests[1] != digests[2])
    }

    @Test("A repetition is answered as the first request was")
    func repeated() throws {
        let end = try end(without: "typo")
        let receipt = "0123456789ABCDEF01234567"
        end.queue.outcome.withLock { $0 = .repeated(receipt: Array(receipt.utf8), logs: 1) }
        let answer = try end.client.post("/_bulk", Self.two.utf8, Self.other)
        #expect(answer.status == 200 && answer["x-log-requestid"] == receipt)
        #expect(answer.text.contains(#""status":201"#) && answer.text.contains(#""status":429"#))
        #expect(end.queue.stored.isEmpty)
    }
}
