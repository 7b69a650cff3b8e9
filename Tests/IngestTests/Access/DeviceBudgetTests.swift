import Configuration
import Crypto
import HTTP
import Ingest
import Logs
import Queue
import SLS
import System
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct DeviceBudgetTests {
    private static let key = "phone-0123456789abcdef"
    private static let track = "/logstores/app-log/track"
    private static let body = Array(#"{"a":1}"#.utf8)
    private static let shown = ["x-sluice-key": key] as KeyValuePairs

    private let clock = ManualClock()

    private func end(
        _ budgets: String,
        limits: (inout LimitSettings) -> Void = { _ in }
    ) throws -> DeviceListener {
        try DeviceListener(
            keys: "{ name: phone, key: \(Self.key), \(budgets) }",
            clock: clock,
            limits: limits
        )
    }

    private func refused(_ end: DeviceListener) -> Counts<KeyCounter.Reason> {
        end.shared.door.counts[0].refused
    }

    @Test("Over its rate, each client is told in its own way when to come again")
    func shapes() throws {
        let end = try end("rate: 2/m")
        for _ in 0..<2 {
            #expect(try end.client.post("/logs/x", Self.body, Self.shown).status == 200)
        }
        clock.advance(.milliseconds(500))
        let declared = ["x-sluice-key": Self.key, "content-length": "1000"] as KeyValuePairs
        for (path, status, start) in [
            ("/logs/x", 429, #"{"error":{"code":"WriteQuotaExceed","message":"this key sends"#),
            (Self.track, 403, #"{"errorCode":"WriteQuotaExceed","errorMessage":"this key sends"#),
            ("/logstores/app-log/shards/lb", 403, #"{"errorCode":"WriteQuotaExceed""#),
        ] {
            // The body never comes.
            let answer = try end.client.post(path, "".utf8, declared)
            #expect(answer.status == status, "\(path)")
            #expect(answer.text.hasPrefix(start), "\(answer.text)")
            #expect(answer.text.contains("send them again in 30 s"))
            let times = answer.fields.filter { $0.name == "retry-after" }.map(\.value)
            #expect(times == (status == 429 ? ["30"] : []))
            #expect(!answer.text.contains(Self.key))
        }
        let pixel = try end.client.get(Self.track + ".gif?a=b&key=\(Self.key)")
        #expect(pixel.status == 403)
        let otlp = try end.client.post(
            "/v1/logs",
            "{}".utf8,
            ["x-sluice-key": Self.key, "content-type": "application/json"]
        )
        #expect(otlp.status == 429)
        #expect(otlp.text.hasPrefix(#"{"code":8,"message":"WriteQuotaExceed"#), "\(otlp.text)")
        #expect(otlp.fields.filter { $0.name == "retry-after" }.map(\.value) == ["30"])
        #expect(refused(end) == [.rate: 5])
        #expect(end.queue.identities.count == 2)
        clock.advance(.milliseconds(29_499))
        #expect(try end.client.post("/logs/x", Self.body, Self.shown)["retry-after"] == "1")
        clock.advance(.milliseconds(1))
        #expect(try end.client.post("/logs/x", Self.body, Self.shown).status == 200)
    }

    @Test("A refused request with a small body leaves the connection for the next")
    func connection() throws {
        let end = try end("rate: 1/s")
        let request =
            "POST /logs/x HTTP/1.1\r\nhost: h\r\nx-sluice-key: \(Self.key)\r\n"
            + "content-length: 7\r\n\r\n{\"a\":1}"
        let last = "GET /healthz HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n"
        let heard = try end.client.converse(Array((request + request + last).utf8))
        // Bodies end anywhere.
        let statuses = String(decoding: heard, as: UTF8.self).split(separator: "HTTP/1.1 ")
            .map { $0.prefix(3) }
        #expect(statuses == ["200", "429", "200"])
    }

    @Test("There must be room for bytes before they come, and what is refused costs nothing")
    func bytes() throws {
        let end = try end("bytes: 100/s, rate: 100/s") { $0.bodyBytes = 1000 }
        let most = Array(repeating: UInt8(ascii: " "), count: 993) + Self.body
        #expect(try end.client.post("/logs/x", most, Self.shown).status == 200)
        for _ in 0..<3 {
            let answer = try end.client.post("/logs/x", Self.body, Self.shown)
            #expect(answer.status == 429)
            #expect(answer["retry-after"] == "1")
            #expect(answer.text.contains("this key sends more bytes than it may"))
        }
        let many = ["x-sluice-key": Self.key, "content-length": "950"] as KeyValuePairs
        #expect(try end.client.post("/logs/x", "".utf8, many)["retry-after"] == "10")
        let more = ["x-sluice-key": Self.key, "content-length": "1001"] as KeyValuePairs
        #expect(try end.client.post("/logs/x", "".utf8, more).status == 413)
        clock.advance(.milliseconds(70))
        #expect(try end.client.post("/logs/x", Self.body, Self.shown).status == 200)
        #expect(try end.client.post("/logs/x", Self.body, Self.shown).status == 429)
        #expect(refused(end) == [.bytes: 5])
    }

    @Test("What only the body tells is taken when it is known")
    func debt() throws {
        let end = try end("bytes: 100/s") { $0.bodyBytes = 1000 }
        let long = Array(#"{"a":"\#(String(repeating: "x", count: 2992))"}"#.utf8)
        let packed = Deflate.compress(long)
        let coded: KeyValuePairs = ["x-sluice-key": Self.key, "content-encoding": "deflate"]
        #expect(try end.client.post("/logs/x", packed, coded).status == 200)
        // 3000 of 1000: the next byte fits when 2001 have come back.
        #expect(try end.client.post("/logs/x", Self.body, Self.shown)["retry-after"] == "21")
        clock.advance(.seconds(19))
        let chunked = Array(
            ("POST /logs/x HTTP/1.1\r\nhost: h\r\nx-sluice-key: \(Self.key)\r\n"
                + "transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
                + "7\r\n{\"a\":1}\r\n0\r\n\r\n").utf8
        )
        #expect(try end.client.exchange(chunked).status == 429)
        clock.advance(.milliseconds(1010))
        #expect(try end.client.exchange(chunked).status == 200)
        #expect(try end.client.exchange(chunked)["retry-after"] == "1")
        // A log costs 16 bytes at least.
        clock.advance(.milliseconds(150))
        #expect(try end.client.exchange(chunked).status == 429)
        clock.advance(.milliseconds(10))
        #expect(try end.client.exchange(chunked).status == 200)
    }

    @Test("What is only promised costs nothing, and does not fit twice")
    func promises() throws {
        let end = try end("bytes: 100/s, rate: 100/s") { $0.bodyBytes = 1000 }
        let promise =
            "POST /logs/x HTTP/1.1\r\nhost: h\r\nx-sluice-key: \(Self.key)\r\n"
            + "expect: 100-continue\r\ncontent-length: 1000\r\n\r\n"
        let gone = try end.client.opened(sending: promise)
        #expect(gone.receives("100 Continue"))
        gone.close()
        let late = try end.client.opened(sending: promise)
        #expect(late.receives("100 Continue"))
        let most = Array(repeating: UInt8(ascii: " "), count: 993) + Self.body
        #expect(try end.client.post("/logs/x", most, Self.shown).status == 200)
        late.send(most)
        #expect(late.receives("this key sends more bytes than it may"))
        #expect(refused(end) == [.bytes: 1])
        clock.advance(.seconds(10))
        #expect(try end.client.post("/logs/x", most, Self.shown).status == 200)
    }

    @Test("Packages count as what they hold")
    func packages() throws {
        let end = try end("bytes: 100/s") { $0.bodyBytes = 1000 }
        var logs = EncodedLogs()
        let time = LogTime(seconds: UInt32(WallTime.now.seconds))
        logs.append(time: time, fields: [("a", String(repeating: "x", count: 2900))])
        let group = logs.bytes + GroupTrailer(topic: "t").bytes
        let data = Zstd.compress(group)
        let package = [0x0A, UInt8(data.count)] + data + [0x18, 3]
        try #require(package.count < 128)
        let answer = try end.client.post(
            "/logstores/app-log/shards/lb",
            [0x0A, UInt8(package.count)] + package,
            ["x-sluice-key": Self.key, "x-log-mode": "batch_group"]
        )
        #expect(answer.status == 200, "\(answer.text)")
        #expect(end.shared.door.counts[0].taken[.bodyBytes] == group.count)
        let wait = (group.count + Self.body.count - 1000 + 99) / 100
        #expect(try end.client.post("/logs/x", Self.body, Self.shown)["retry-after"] == "\(wait)")
    }

    @Test("To inflate what is damaged costs as much as it took")
    func damaged() throws {
        let end = try end("bytes: 100/s") { $0.bodyBytes = 1000 }
        let long = Array(#"{"a":"\#(String(repeating: "x", count: 2992))"}"#.utf8)
        let coded: KeyValuePairs = ["x-sluice-key": Self.key, "content-encoding": "deflate"]
        let cut = Deflate.compress(long).dropLast(4)
        #expect(try end.client.post("/logs/x", cut, coded).status == 400)
        #expect(try end.client.post("/logs/x", Self.body, Self.shown)["retry-after"] == "21")
    }

    @Test("A log in a query costs the bytes of the query")
    func queries() throws {
        let end = try end("bytes: 100/s") { $0.bodyBytes = 1000 }
        let path = Self.track + ".gif?a=" + String(repeating: "x", count: 498)
        for status in [200, 200, 403] {
            #expect(try end.client.get(path, Self.shown).status == status)
        }
        clock.advance(.seconds(5))
        #expect(try end.client.get(path, Self.shown).status == 200)
    }

    @Test("A reload that raises a budget helps at once")
    func raised() throws {
        let end = try end("rate: 1/h")
        #expect(try end.client.post("/logs/x", Self.body, Self.shown).status == 200)
        #expect(try end.client.post("/logs/x", Self.body, Self.shown)["retry-after"] == "3600")
        let rules = SenderRules(rate: Allowance(100))
        end.use([DeviceKey(name: "phone", secret: Secret(Self.key), rules)])
        #expect(try end.client.post("/logs/x", Self.body, Self.shown)["retry-after"] == "1")
        clock.advance(.milliseconds(10))
        #expect(try end.client.post("/logs/x", Self.body, Self.shown).status == 200)
    }

    @Test("A request that finds no room in the queue costs nothing")
    func full() throws {
        let end = try end("rate: 1/s")
        end.queue.say(.full)
        for _ in 0..<3 {
            #expect(try end.client.post("/logs/x", Self.body, Self.shown).status == 503)
        }
        end.queue.say(.open)
        #expect(try end.client.post("/logs/x", Self.body, Self.shown).status == 200)
        #expect(try end.client.post("/logs/x", Self.body, Self.shown).status == 429)
    }

    @Test("A reload changes budgets at once, and what was used stays used")
    func replaced() throws {
        let end = try end("rate: 2/s")
        for status in [200, 200, 429] {
            #expect(try end.client.post("/logs/x", Self.body, Self.shown).status == status)
        }
        func use(_ rules: SenderRules) {
            end.use([DeviceKey(name: "phone", secret: Secret(Self.key), rules)])
        }
        use(SenderRules(rate: Allowance(1)))
        #expect(try end.client.post("/logs/x", Self.body, Self.shown).status == 429)
        use(SenderRules())
        #expect(try end.client.post("/logs/x", Self.body, Self.shown).status == 200)
        use(SenderRules(rate: Allowance(120, per: .minute)))
        #expect(try end.client.post("/logs/x", Self.body, Self.shown).status == 200)
    }
}
