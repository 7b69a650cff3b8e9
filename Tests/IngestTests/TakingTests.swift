import Configuration
import Crypto
import HTTP
import Ingest
import Logs
import Queue
import System
import TestConfiguration
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct TakingTests {
    private let end: DeviceListener

    init() throws { end = try DeviceListener() }

    @Test("What was inflated counts among the bodies in flight until it is stored")
    func inflatedInFlight() throws {
        // An LZ4 block: literals, one match that repeats the last of them, and five literals at its
        // end.
        let repeated = 900_000
        var block = Array("\u{7F}{\"a\":\"x".utf8) + [1, 0]
        block += Array(repeating: 255, count: (repeated - 19) / 255)
        block += [UInt8((repeated - 19) % 255)] + Array("Pxxx\"}".utf8)
        end.queue.hold()
        let count = 7 + repeated + 5
        let connection = try end.client.opened(
            sending: "POST /logs/x HTTP/1.1\r\nhost: h\r\nconnection: close\r\n"
                + "x-log-compresstype: lz4\r\nx-log-bodyrawsize: \(count)\r\n"
                + "content-length: \(block.count)\r\n\r\n"
        )
        connection.send(block)
        #expect(eventually { end.server.counters[.heldBodies] > repeated })
        #expect(end.server.counters[.heldBodies] < repeated + 2000)
        end.queue.release()
        #expect(connection.rest().hasPrefix("HTTP/1.1 200 "))
        #expect(eventually { end.server.counters[.heldBodies] == 0 })
        #expect(try end.queue.stored[0].entries()[0].fields[0].value.utf8.count == repeated + 4)
    }

    @Test("A capture that has no memory misses a request, and the request is stored")
    func captureWithoutMemory() throws {
        let end = try DeviceListener { $0.http.inFlightBodyBytes = 500 << 10 }
        end.queue.hold()
        let log = #"{"m":"\#(String(repeating: "x", count: 600))"}"#
        let body = "[\(Array(repeating: log, count: 100).joined(separator: ","))]"
        let send = {
            try end.client.opened(
                sending: "POST /logs/x HTTP/1.1\r\nhost: h\r\nconnection: close\r\n"
                    + "content-length: \(body.utf8.count)\r\n\r\n\(body)"
            )
        }
        let earlier = try send()
        #expect(eventually { end.queue.identities.count == 1 })
        // What the record would keep is more than one address may hold beside the request that
        // waits.
        let capture = try end.shared.captures.start(CaptureFilter(), .init(), by: "test")
        let captured = try send()
        #expect(eventually { end.queue.identities.count == 2 })
        #expect(end.server.counters[.refusedBodies] == 0)
        end.queue.release()
        #expect(earlier.rest().hasPrefix("HTTP/1.1 200 "))
        #expect(captured.rest().hasPrefix("HTTP/1.1 200 "))
        #expect(capture.status.kept == 0 && capture.status.missed == 1)
    }

    @Test("A request that the queue refuses has its body in a capture", arguments: [nil, 5, 503])
    func captureOfBusy(status: Int?) throws {
        var filter = CaptureFilter()
        filter.status = status
        let capture = try end.shared.captures.start(filter, .init(), by: "test")
        end.queue.outcome.withLock { $0 = .refused(.diskFull) }
        #expect(try end.client.post("/logs/x", #"{"a":1}"#.utf8).status == 503)
        let record = try #require(capture.record(1))
        #expect(record.body?.text == #"{"a":1}"#)
        #expect(record.answer?.status == 503)
    }

    @Test("A captured log names no destination to which its key may not send")
    func captureWithRights() throws {
        let routes = "\nroutes:\n- { match: both, to: [app, any] }"
        let end = try DeviceListener(DeviceListener.twoDestinations + routes)
        let rules = SenderRules(destinations: ["app"])
        end.use([DeviceKey(name: "ios", secret: Secret("0123456789abcdef"), rules)])
        let capture = try end.shared.captures.start(CaptureFilter(), .init(), by: "test")
        let key: KeyValuePairs = ["x-sluice-key": "0123456789abcdef"]
        #expect(try end.client.post("/logs/both", #"{"a":1}"#.utf8, key).status == 200)
        #expect(capture.record(1)?.logs.first?.destinations == ["app"])
    }

    @Test("Plain JSON becomes a batch, and the answer names receipt and count")
    func plain() throws {
        let answer = try end.client.post("/logs/pv.ios", #"[{"a":"1"},{"a":"2"}]"#.utf8)
        #expect(answer.status == 200)
        let receipt = try #require(answer["x-log-requestid"])
        #expect(answer.text == #"{"receipt":"\#(receipt)","count":2}"# + "\n")
        #expect(answer.fields.count { $0.name == "x-log-requestid" } == 1)
        let batch = try #require(end.queue.stored.first)
        #expect(batch.logs.count == 2)
        #expect(batch.stream.destination == "app")
        #expect(batch.stream.logstore == "app-log")
        #expect(batch.stream.trailer.topic == "pv.ios")
        #expect(batch.tags == ["env=prod"])
    }

    @Test("Web tracking keeps the device's words, and the operator's tags win")
    func tracking() throws {
        let time = UInt32(WallTime.now.seconds - 3600)
        let body =
            #"{"__topic__":"t","__source__":"iOS","__logs__":[{"__time__":\#(time),"k":"v"}],"#
            + #""__tags__":{"__pack_id__":"ABC-1","env":"mine","os":"17"}}"#
        let answer = try end.client.post("/logstores/app-log/track?APIVersion=0.6.0", body.utf8)
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
        #expect(answer["access-control-allow-origin"] == "*")
        let batch = try #require(end.queue.stored.first)
        var expected = EncodedLogs()
        expected.append(time: LogTime(seconds: time), fields: [("k", "v")])
        #expect(batch.logs == expected)
        #expect(batch.stream.trailer.topic == "t")
        #expect(batch.stream.trailer.source == "iOS")
        #expect(
            batch.tags == ["os=17", "env=prod"]
        )
    }

    @Test("A time that SLS would refuse the packet for becomes the arrival, and stays beside it")
    func impossibleTime() throws {
        #expect(
            try end.client.post("/logs/x", #"{"__time__":1736843400,"k":"v"}"#.utf8).status == 200
        )
        let logs = try #require(end.queue.stored.first).logs
        let entry = try logs.bytes.withUnsafeBytes { bytes in try LogEntry(bytes) }
        #expect(abs(Int64(entry.time.seconds) - WallTime.now.seconds) < 60)
        #expect(
            entry.texts == [
                "__original_time__=1736843400", "k=v",
            ]
        )
    }

    @Test("What a destination says stands in for what a batch does not say")
    func defaults() throws {
        let host = "other-project.gateway.test:8080"
        _ = try end.client.post("/logs/some-store", #"{"a":1}"#.utf8, ["host": host])
        let track = #"{"__logs__":[{"a":"1"}]}"#
        _ = try end.client.post("/logstores/xy/track", track.utf8, ["host": host])
        #expect(end.queue.stored.map(\.stream.destination) == ["any", "any"])
        #expect(end.queue.stored.map(\.stream.logstore) == ["some-store", "xy"])
        #expect(end.queue.stored.map(\.stream.trailer.topic) == ["given", "given"])
        #expect(end.queue.stored.map(\.stream.trailer.source) == ["here", "here"])
    }

    @Test("A request whose body comes late goes where its own head says")
    func lateBody() throws {
        func head(_ tag: String, _ host: String) -> String {
            "POST /logs/\(tag) HTTP/1.1\r\nhost: \(host)\r\nconnection: close\r\ncontent-length: 7\r\n\r\n"
        }
        let first = try end.client.opened(sending: head("one", "other-project.x") + #"{"a""#)
        #expect(eventually { end.server.counters[.heldBodies] == 7 })
        let second = try end.client.opened(sending: head("two", "my-project.x") + #"{"a""#)
        #expect(eventually { end.server.counters[.heldBodies] == 14 })
        for connection in [first, second] {
            connection.send(":1}")
            let answer = connection.rest()
            #expect(answer.hasPrefix("HTTP/1.1 200 "))
        }
        #expect(end.queue.stored.map(\.stream.logstore) == ["one", "app-log"])
        #expect(end.queue.stored.map(\.stream.trailer.topic) == ["given", "two"])
    }

    @Test(
        "Nothing in it is fine, and nothing is stored",
        arguments: [
            ("/logs/x", "[]", "\"count\":0}\n"), ("/logs/x", "[ ]\n", "\"count\":0}\n"),
            // A page that says good-bye with nothing to tell.
            ("/logstores/app-log/track", #"{"__logs__":[]}"#, ""),
        ]
    )
    func empty(path: String, body: String, end told: String) throws {
        let answer = try end.client.post(path, body.utf8)
        #expect(answer.status == 200 && answer.text.hasSuffix(told), "\(answer.text)")
        #expect(end.queue.stored.isEmpty)
    }

    @Test(
        "Bodies come compressed in each way, told by either header",
        arguments: ["x-log-compresstype", "content-encoding"]
    )
    func compressed(header: String) throws {
        let json = Array(
            #"{"__logs__":[{"__time__":1736843400,"k":"vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv"}]}"#
                .utf8
        )
        let bodies: KeyValuePairs<String, [UInt8]> = [
            "lz4": LZ4.compress(json), "deflate": Deflate.compress(json),
            "zstd": Zstd.compress(json),
        ]
        for (name, body) in bodies {
            let answer = try end.client.post(
                "/logstores/app-log/track",
                body,
                [header: name, "x-log-bodyrawsize": "\(json.count)"]
            )
            #expect(answer.status == 200, "\(name): \(answer.text)")
        }
        #expect(Set(end.queue.stored.map(\.logs.bytes)).count == 1)
        #expect(end.queue.stored.count == 3)
    }

    @Test("A wrong raw size of uncompressed JSON does not matter: browsers count other units")
    func rawSizeOfPlainJSON() throws {
        let answer = try end.client.post(
            "/logstores/app-log/track",
            #"{"__logs__":[{"k":"世界"}]}"#.utf8,
            ["x-log-bodyrawsize": "25"]
        )
        #expect(answer.status == 200)
    }

    @Test("The clock and the pulse answer without a key")
    func clockAndPulse() throws {
        let client = end.client
        let clock = try client.get("/servertime")
        #expect(clock.status == 200)
        let time = try #require(clock["x-log-time"].flatMap { Int64($0) })
        #expect(abs(time - WallTime.now.seconds) < 5)
        #expect(try client.get("/healthz").text == "ok\n")
        #expect(try client.send("HEAD", "/healthz").body.isEmpty)
    }

    @Test("A balancer is told to choose another gateway of the cluster")
    func unhealthy() throws {
        let client = end.client
        let pages = ["/healthz", "/ready", "/services/collector/health"]
        func statuses() throws -> Set<Int> { Set(try pages.map { try client.get($0).status }) }
        // If all gateways fail, the devices shall get this one's answer.
        end.queue.say(.failing)
        #expect(try statuses() == [200])
        end.queue.failsAlone.withLock { $0 = true }
        #expect(try statuses() == [503])
        let answer = try client.get("/healthz")
        #expect(answer["retry-after"] != nil && answer.text.contains("ServerBusy"))
        #expect(try client.send("HEAD", "/healthz").status == 503)
        #expect(try client.get("/servertime").status == 200)
        end.queue.failsAlone.withLock { $0 = false }
        #expect(try statuses() == [200])
    }

    @Test(
        "A preflight is answered for pages of any origin",
        arguments: [
            ("/logstores/app-log/track", "GET, HEAD, POST, OPTIONS"), ("/logs/x", "POST, OPTIONS"),
        ]
    )
    func preflight(path: String, methods: String) throws {
        let answer = try end.client.send(
            "OPTIONS",
            path,
            [],
            ["origin": "https://a.test", "access-control-request-method": "POST"]
        )
        #expect(answer.status == 204)
        #expect(answer["access-control-allow-origin"] == "https://a.test")
        #expect(answer["access-control-allow-methods"] == methods)
        let allowed = answer["access-control-allow-headers"]?.split(separator: ", ") ?? []
        #expect(
            Set(allowed).isSuperset(of: [
                "x-log-bodyrawsize", "x-log-client-time", "idempotency-key", "x-sluice-key",
                "x-sluice-signature",
            ])
        )
    }

    @Test("OPTIONS * asks for the server as such")
    func asterisk() throws {
        let answer = try end.client.send("OPTIONS", "*")
        #expect(answer.status == 204)
        #expect(answer["allow"] == "GET, HEAD, POST, OPTIONS")
    }

    @Test("Receipts differ, and on one connection each answer has its own")
    func pipelined() throws {
        let one = "POST /logs/x HTTP/1.1\r\nhost: h\r\ncontent-length: 7\r\n\r\n{\"a\":1}"
        let last = "GET /healthz HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n"
        let answer = try end.client.exchange(Array((one + one + one + last).utf8))
        let all = "x-log-requestid: \(answer["x-log-requestid"] ?? "")\r\n" + answer.text
        let receipts = all.split(separator: "\r\n").filter { $0.hasPrefix("x-log-requestid: ") }
        #expect(receipts.count == 4)
        #expect(Set(receipts).count == 4)
        #expect(receipts.allSatisfy { $0.utf8.count == "x-log-requestid: ".utf8.count + 24 })
    }
}
