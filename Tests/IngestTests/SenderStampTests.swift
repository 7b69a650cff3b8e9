import Configuration
import Crypto
import Logs
import Net
import Queue
import SLS
import System
import TestConfiguration
import TestSupport
import Testing

@testable import HTTP
@testable import Ingest

/// What the gateway knows of a sender, as fields and tags of its logs.
@Suite(.timeLimit(.minutes(10))) struct SenderStampTests {
    private static let key = "phone-0123456789abcdef"
    private static let shown: KeyValuePairs = ["x-sluice-key": key]

    private func end(_ stamp: String, _ devices: String = "", more: String = "") throws
        -> DeviceListener
    {
        try DeviceListener(
            """
            devices:
              keys: [ { name: phone, key: \(Self.key) } ]
              \(devices)
            """ + "\n" + DeviceListener.destination("stamp: \(stamp)\n    \(more)")
        )
    }

    /// A way in, and a log of it that calls itself by the names of stamps.
    struct Forgery: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let body: String
        let method: String
        let type: String
        /// How many fields and tags are removed.
        let removed: Int

        init(
            _ path: String,
            _ body: String,
            method: String = "POST",
            type: String = "application/json",
            removed: Int = 1
        ) {
            (testDescription, self.body) = (path, body)
            (self.method, self.type, self.removed) = (method, type, removed)
        }
    }

    private static let resource =
        #"{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]}"#
    /// What a record says itself stands below its own field `attribute`.
    private static let record = #"{"body":{"stringValue":"x"}}"#

    private static let forgeries = [
        Forgery("/logs/app", #"{"device_key":"forged","k":"v"}"#),
        Forgery("/logs/app", "{\"k\":1}\n{\"device_key\":\"forged\"}\n"),
        Forgery("/logs/app", #"{"__tag__:device_key":"forged","k":"v"}"#),
        Forgery("/logs/app", #"{"device_key":"forged","device_key":"again"}"#),
        Forgery("/logs/app?format=lines", "one\ntwo\n", type: "text/plain", removed: 0),
        Forgery(
            "/logstores/l-1/track",
            #"{"__logs__":[{"device_key":"forged"}],"__tags__":{"device_key":"forged","a":"b"}}"#,
            removed: 2
        ),
        Forgery("/logstores/l-1/track?APIVersion=0.6.0&device_key=forged&k=v", "", method: "GET"),
        Forgery(
            "/v1/logs",
            #"{"resourceLogs":[{"resource":\#(resource),"scopeLogs":[{"logRecords":[\#(record)]}]}]}"#,
            removed: 0
        ),
        Forgery(
            "/loki/api/v1/push",
            #"{"streams":[{"stream":{"app":"a","device_key":"forged"},"values":[["1700000000000000000","x",{"device_key":"forged"}]]}]}"#,
            removed: 2
        ),
        Forgery(
            "/services/collector/event",
            #"{"event":{"device_key":"forged"},"fields":{"f":1}}"#
        ),
        Forgery(
            "/_bulk",
            "{\"create\":{\"_index\":\"web\"}}\n{\"device_key\":\"forged\"}\n",
            type: "application/x-ndjson"
        ),
    ]

    @Test("Every dialect gets the stamp, and none can say it itself", arguments: forgeries)
    func dialects(_ forgery: Forgery) throws {
        let end = try end("{ key: device_key }")
        let answer = try end.client.send(
            forgery.method,
            forgery.testDescription,
            Array(forgery.body.utf8),
            ["x-sluice-key": Self.key, "content-type": forgery.type]
        )
        #expect((200...204).contains(answer.status), "\(answer.text)")
        #expect(!end.queue.stored.isEmpty)
        for batch in end.queue.stored {
            #expect(!batch.tags.contains { $0.contains("device_key") })
            for log in try batch.logs.fields() {
                #expect(log.filter { $0.contains("device_key") } == ["device_key=phone"], "\(log)")
                #expect(!log.contains { $0.contains("forged") || $0.contains("again") })
            }
        }
        #expect(end.shared.counters.content[.claimsRemoved] == forgery.removed)
    }

    @Test("SLS's own LogGroups are stamped too, logs that are copied as they are among them")
    func putLogs() throws {
        let end = try end("{ key: device_key, receipt: receipt }", more: "late_logs: dead_letter")
        let now = UInt32(WallTime.now.seconds)
        var logs = EncodedLogs()
        logs.append(time: LogTime(seconds: now, nanoseconds: 7), fields: [("k", "v"), ("l", "")])
        logs.append(time: LogTime(seconds: now), fields: [("device_key", "forged"), ("k", "w")])
        logs.append(time: LogTime(seconds: now), fields: [])
        logs.append(time: LogTime(seconds: 5), fields: [("receipt", "mine")])
        let trailer = GroupTrailer(topic: "t", tags: [("device_key", "forged"), ("a", "b")])
        let answer = try end.client.post(
            "/logstores/l-1/shards/lb",
            logs.bytes + trailer.bytes,
            ["x-sluice-key": Self.key, "content-type": "application/x-protobuf"]
        )
        #expect(answer.status == 200, "\(answer.text)")
        let receipt = try #require(answer["x-log-requestid"])
        let batch = try #require(end.queue.stored.first)
        let stamp = ["device_key=phone", "receipt=\(receipt)"]
        #expect(
            try batch.logs.fields() == [stamp + ["k=v", "l="], stamp + ["k=w"], stamp]
        )
        #expect(try batch.entries().map(\.time.nanoseconds) == [7, 0, 0])
        // What can never be delivered tells who sent it, and a replay takes it as it is.
        #expect(try batch.dead[0].logs.fields() == [stamp])
        #expect(batch.tags == ["a=b", "env=prod"])
        #expect(end.shared.counters.content[.claimsRemoved] == 3)
    }

    @Test("Lengths are right whatever a stamp makes of them")
    func lengths() throws {
        let end = try end("{ key: k, client_ip: __client_ip__ }")
        for size in [0, 1, 70, 80, 90, 100, 110, 127, 128, 16_300, 16_340, 16_384, 70_000] {
            let text = String(repeating: "x", count: size)
            let answer = try end.client.post("/logs/app", #"{"v":"\#(text)"}"#.utf8, Self.shown)
            #expect(answer.status == 200)
            let batch = try #require(end.queue.stored.last)
            #expect(
                try batch.logs.fields() == [["__client_ip__=127.0.0.1", "k=phone", "v=\(text)"]]
            )
        }
    }

    @Test("A stamp may be a tag, which no tag and no field of a device can be")
    func tag() throws {
        let end = try end("{ key: \"__tag__:who\" }", more: "fold_tags: all")
        let body =
            #"{"__logs__":[{"k":"v","who":"f","__tag__:who":"f"}],"__tags__":{"who":"f","os":"17"}}"#
        #expect(try end.client.post("/logstores/l-1/track", body.utf8, Self.shown).status == 200)
        let batch = try #require(end.queue.stored.first)
        #expect(batch.tags == ["env=prod", "who=phone"])
        #expect(try batch.logs.fields() == [["__tag__:os=17", "k=v"]])
    }

    @Test("Where nothing was verified, the name stays empty: the gateway's word or none")
    func nothingKnown() throws {
        let end = try DeviceListener(
            DeviceListener.destination("stamp: { key: who, subject: sub, certificate: cert }")
        )
        let body = #"{"who":"me","sub":"me","cert":"me","k":"v"}"#
        #expect(try end.client.post("/logs/app", body.utf8).status == 200)
        #expect(try #require(end.queue.stored.first).logs.fields() == [["k=v"]])
        #expect(end.shared.counters.content[.claimsRemoved] == 3)
    }

    @Test("Without stamps nothing is touched or counted")
    func none() throws {
        let end = try DeviceListener(DeviceListener.destination("topic: x"))
        #expect(try end.client.post("/logs/app", #"{"device_key":"own"}"#.utf8).status == 200)
        #expect(try #require(end.queue.stored.first).logs.fields() == [["device_key=own"]])
        #expect(end.shared.counters.content[.claimsRemoved] == 0)
    }

    @Test("The address is the one that trusted proxies tell, v4 as v4")
    func address() throws {
        let end = try end("{ client_ip: ip }", "trusted_proxies: [127.0.0.1]")
        func stamped(_ forwarded: String, from source: String = "127.0.0.1") throws -> [String] {
            var client = end.client
            client.source = source
            let fields: KeyValuePairs = ["x-sluice-key": Self.key, "x-forwarded-for": forwarded]
            #expect(try client.post("/logs/app", #"{"ip":"6.6.6.6"}"#.utf8, fields).status == 200)
            return try #require(end.queue.stored.last).logs.fields()[0]
        }
        #expect(try stamped("6.6.6.6, ::ffff:192.0.2.1") == ["ip=192.0.2.1"])
        #expect(try stamped("2001:db8::7") == ["ip=2001:db8::7"])
        #expect(try stamped("192.0.2.1", from: "127.0.0.9") == ["ip=127.0.0.9"])
    }

    @Test("The subject is that of the token, and the certificate's name the first that it has")
    func subject() throws {
        let secret = "0123456789abcdef0123456789abcdef"
        let end = try end(
            "{ subject: sub, key: who }",
            "jwt: { algorithm: HS256, keys: [ { kid: a, secret: \(secret) } ] }"
        )
        func token(_ claims: String) -> String {
            let parts = [#"{"alg":"HS256"}"#, #"{\#(claims)"exp":\#(WallTime.now.seconds + 60)}"#]
            func encoded(_ bytes: [UInt8]) -> String {
                Digest.base64(bytes).replacing("+", with: "-").replacing("/", with: "_")
                    .replacing("=", with: "")
            }
            let text = parts.map { encoded(Array($0.utf8)) }.joined(separator: ".")
            return "\(text).\(encoded(Digest.hmacSHA256(key: Array(secret.utf8), text)))"
        }
        let long = String(repeating: "é", count: 200)
        for (claims, expected) in [
            (#""sub":"u-7","#, ["sub=u-7", "who=jwt:a"]), ("", ["who=jwt:a"]),
            (#""sub":7,"#, ["who=jwt:a"]),
            (#""sub":"\#(long)","#, ["sub=\(long.prefix(128))", "who=jwt:a"]),
        ] {
            let shown: KeyValuePairs = ["authorization": "Bearer \(token(claims))"]
            #expect(try end.client.post("/logs/app", #"{"sub":"me"}"#.utf8, shown).status == 200)
            #expect(Set(try #require(end.queue.stored.last).logs.fields()[0]) == Set(expected))
        }
        var peer = PeerAddress(host: "192.0.2.1", port: 1)
        peer.clientNames = ["dns:phone-17.example.com", "dns:other"]
        let head = RequestHead(
            bytes: [],
            method: .post,
            path: 0..<0,
            query: nil,
            fields: [],
            minorVersion: 1,
            peer: peer
        )
        let facts = SenderFacts(head, nil, [], receipt: [])
        #expect(facts.certificate == "dns:phone-17.example.com")
        #expect(facts.clientIP == IPAddress("192.0.2.1"))
    }

    @Test("A request that comes again is the same, though its receipt is another")
    func repeated() throws {
        let end = try end("{ receipt: receipt, client_ip: ip }")
        let fields: KeyValuePairs = ["x-sluice-key": Self.key, "idempotency-key": "once"]
        let first = try end.client.post("/logs/app", #"{"a":1}"#.utf8, fields)
        let second = try end.client.post("/logs/app", #"{"a":1}"#.utf8, fields)
        #expect(first["x-log-requestid"] != second["x-log-requestid"])
        let identities = end.queue.identities.compactMap { $0 }
        #expect(identities.count == 2)
        #expect(identities[0].digest == identities[1].digest)
        #expect(identities[0].receipt == Array((first["x-log-requestid"] ?? "").utf8))
        let receipts = try end.queue.stored.map { try $0.logs.fields()[0][1] }
        #expect(receipts.first == "receipt=\(first["x-log-requestid"] ?? "")")
    }

    @Test("Where fields would be far more than what was sent, stamps are tags of the stream")
    func crowd() throws {
        let end = try end("{ client_ip: ip, receipt: receipt, key: who }")
        let body =
            "[" + [String](repeating: #"{"who":1}"#, count: 300_000).joined(separator: ",") + "]"
        let answer = try end.client.post("/logs/app", body.utf8, Self.shown)
        #expect(answer.status == 200, "\(answer.text)")
        let batch = try #require(end.queue.stored.first)
        #expect(batch.logs.count == 300_000)
        #expect(batch.logs.bytes.count < 300_000 * 16)
        #expect(
            batch.tags == [
                "env=prod", "ip=127.0.0.1", "who=phone",
                "receipt=\(answer["x-log-requestid"] ?? "")",
            ]
        )
        #expect(try batch.entries().allSatisfy { $0.fields.isEmpty })
        #expect(end.shared.counters.content[.claimsRemoved] == 300_000)
    }

    @Test(
        "Names that cannot be are told with their key",
        arguments: [
            ("{ key: __topic__ }", "stamp.key: \"__topic__\" is reserved"),
            ("{ key: \"\" }", "stamp.key: a stamp's name has 1 to 120 bytes"),
            ("{ key: \"__tag__:\" }", "stamp.key: a stamp's name has 1 to 120 bytes"),
            ("{ key: \(String(repeating: "n", count: 121)) }", "stamp.key: a stamp's name has"),
            ("{ key: a, receipt: \"__tag__:a\" }", "stamp.receipt: \"a\" is what key is called"),
            ("{ key: env }", "stamp.key: \"env\" is in tags too"),
            ("{ ip: a }", "stamp.ip: unknown key; known: client_ip, key"),
            ("yes", "stamp: wants a group of settings"),
        ]
    )
    func wrong(_ stamp: String, _ problem: String) throws {
        let error = #expect(throws: ConfigurationProblems.self) { _ = try end(stamp) }
        #expect(error?.description.contains("destinations.app." + problem) == true, "\(error!)")
    }

    @Test("A receipt as a tag is worth a warning")
    func warning() throws {
        func warnings(_ stamp: String) throws -> [String] {
            try read(
                DeviceListener.destination("stamp: \(stamp)") + "\nlisten: 127.0.0.1:8080",
                ["ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"]
            ).startWarnings
        }
        #expect(try warnings("{ receipt: r }") == [])
        #expect(try warnings("{ receipt: \"__tag__:r\" }").first?.contains("stamp.receipt") == true)
    }
}
