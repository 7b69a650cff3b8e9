import Configuration
import Crypto
import Ingest
import Logs
import Queue
import SLS
import System
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct PutLogsTests {
    private let end: DeviceListener

    init() throws { end = try DeviceListener() }

    private static let key = "0123456789ABCDEFfedcba9876543210"
    private let seconds = UInt32(WallTime.now.seconds - 60)

    private var logs: EncodedLogs {
        var logs = EncodedLogs()
        logs.append(
            time: LogTime(seconds: seconds, nanoseconds: 123_456_789),
            fields: [("level", "info"), ("msg", "héllo 世界")]
        )
        logs.append(time: LogTime(seconds: seconds), fields: [("empty", "")])
        return logs
    }

    private func group(
        _ topic: String = "t",
        _ tags: [(key: String, value: String)] = [
            ("__pack_id__", "5D2D1E0A5CDB4E36-0"), ("os", "17"),
        ]
    ) -> [UInt8] {
        logs.bytes + GroupTrailer(topic: topic, source: "10.0.0.1", tags: tags).bytes
    }

    private func package(_ data: [UInt8]) -> [UInt8] {
        Self.field(Self.field(data) + [0x18, 0])
    }

    /// Field 1, of less than 16 KiB.
    private static func field(_ content: [UInt8]) -> [UInt8] {
        [0x0A, UInt8(content.count & 0x7F) | 0x80, UInt8(content.count >> 7)] + content
    }

    private func expectStored(_ end: DeviceListener) throws {
        let batch = try #require(end.queue.stored.last)
        #expect(batch.logs == logs)
        #expect(batch.stream.logstore == "app-log")
        #expect(batch.stream.trailer.topic == "t")
        #expect(batch.stream.trailer.source == "10.0.0.1")
        #expect(
            batch.tags == ["os=17", "env=prod"]
        )
    }

    @Test(
        "Logs are stored as they came, whoever signed",
        arguments: [
            "/shards/lb", "", "/shards/lb?processor=p", "/shards/route?key=\(key)",
            "/shards/route?seqid=7&key=\(key)",
        ]
    )
    func paths(rest: String) throws {
        let answer = try end.client.post(
            "/logstores/app-log" + rest,
            group(),
            [
                "host": "my-project.gateway.test", "content-type": "application/x-protobuf",
                "x-log-apiversion": "0.7.0", "x-log-signaturemethod": "hmac-sha1",
                "authorization": "LOG unknown:c2VjcmV0",
                "content-md5": Digest.md5Hex([group()[...]]),
                "x-log-bodyrawsize": "\(group().count)",
            ]
        )
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.body.isEmpty)
        #expect(answer["x-log-requestid"]?.utf8.count == 24)
        #expect(answer["x-log-time"] != nil)
        #expect(answer["content-length"] == "0")
        try expectStored(end)
        #expect(end.shared.counters.accepted.first { $0.route == "putlogs" }?.counts[.logs] == 2)
    }

    @Test("Bodies come compressed in each way, with the digest of what travels")
    func compressed() throws {
        let bodies: KeyValuePairs<String, [UInt8]> = [
            "lz4": LZ4.compress(group()), "deflate": Deflate.compress(group()),
            "zstd": Zstd.compress(group()),
        ]
        for (name, body) in bodies {
            let answer = try end.client.post(
                BadRequest.balanced,
                body,
                [
                    "x-log-compresstype": name, "x-log-bodyrawsize": "\(group().count)",
                    "content-md5": Digest.md5Hex([body[...]]).lowercased(),
                ]
            )
            #expect(answer.status == 200, "\(name): \(answer.text)")
            try expectStored(end)
        }
        #expect(end.queue.stored.count == 3)
    }

    @Test(
        "JSON is read whatever it is called",
        arguments: ["application/json", "Application/JSON; charset=utf-8", "text/plain", nil]
    )
    func json(contentType: String?) throws {
        let body =
            #"{"__topic__":"t","__source__":"10.0.0.1","__tags__":{"os":"17"},"__logs__":["#
            + #"{"__time__":\#(seconds),"__time_ns_part__":123456789,"level":"info","#
            + #""msg":"héllo 世界"},{"__time__":"\#(seconds)","empty":""}]}"#
        let answer =
            if let contentType {
                try end.client.post(
                    BadRequest.balanced,
                    body.utf8,
                    ["content-type": contentType]
                )
            } else {
                try end.client.post(BadRequest.balanced, body.utf8)
            }
        #expect(answer.status == 200, "\(answer.text)")
        try expectStored(end)
    }

    @Test("What is called JSON and is protobuf is read as what it is")
    func misnamed() throws {
        let answer = try end.client.post(
            BadRequest.balanced,
            group(),
            ["content-type": "application/json"]
        )
        #expect(answer.status == 200, "\(answer.text)")
        try expectStored(end)
    }

    @Test("Packages become batches of their own streams, stored at once")
    func packages() throws {
        let body = package(group("one")) + package(group("two", [])) + package(group())
        let answer = try end.client.post(
            BadRequest.balanced,
            body,
            ["x-log-mode": "batch_group", "x-log-bodyrawsize": "\(body.count)"]
        )
        #expect(answer.status == 200, "\(answer.text)")
        #expect(end.queue.stored.map(\.stream.trailer.topic) == ["one", "two", "t"])
        #expect(end.queue.identities.count == 1)
        #expect(end.queue.identities.last??.logs == 6)
        try expectStored(end)
    }

    @Test("Folded tags of many packages take no more room than those of one")
    func foldedPackages() throws {
        let end = try DeviceListener(DeviceListener.destination("fold_tags: all")) {
            $0.inflatedBytes = 1 << 10
        }
        var small = EncodedLogs()
        for _ in 0..<6 { small.append(time: LogTime(seconds: seconds), fields: [("a", "1")]) }
        let tags = [(key: "os", value: String(repeating: "x", count: 200))]
        let group = small.bytes + GroupTrailer(topic: "t", tags: tags).bytes
        let answer = try end.client.post(
            BadRequest.balanced,
            package(group) + package(group) + package(group),
            ["x-log-mode": "batch_group"]
        )
        #expect(answer.status == 200, "\(answer.text)")
        let sizes = end.queue.stored.map(\.logs.bytes.count)
        #expect(sizes.count == 2)
        #expect(sizes[0] > 1200)
        #expect(sizes[1] == 2 * small.bytes.count)
    }

    @Test("A repetition is known by its pack id, or by the number that the client gave it")
    func repeats() throws {
        func digest(_ path: String, _ body: [UInt8], _ mode: String = "none") throws -> [UInt8]? {
            let end = try DeviceListener()
            let answer = try end.client.post(path, body, ["x-log-mode": mode])
            #expect(answer.status == 200, "\(answer.text)")
            return end.queue.identities.last??.digest
        }
        let (packed, bare) = (group(), group("t", []))
        let routed = "/logstores/app-log/shards/route?key=\(Self.key)"
        let name = try digest(BadRequest.balanced, packed)
        #expect(name != nil)
        #expect(try digest(routed + "&seqid=4", packed) == name)
        #expect(try digest(BadRequest.balanced, group("u")) != name)
        #expect(try digest(BadRequest.balanced, bare) == nil)
        #expect(try digest(routed, bare) == nil)

        let number = try digest(routed + "&seqid=4", bare)
        #expect(number != nil)
        #expect(try digest(routed.lowercased() + "&seqid=04", bare) == number)
        #expect(try digest(routed + "&seqid=5", bare) != number)
        #expect(try digest(routed + "&seqid=4", group("u", [])) != number)

        let packages = try digest(BadRequest.balanced, package(packed), "batch_group")
        #expect(packages != nil && packages != name)
    }

    @Test("A body that ends anywhere is stored in part with its whole logs, or refused")
    func truncated() throws {
        let body = group()
        for count in 1..<body.count {
            let answer = try end.client.post(BadRequest.balanced, body.prefix(count))
            #expect(answer.status == 200 || answer.status == 400, "\(count)")
            #expect(answer.body.count <= 255)
        }
        let stored = end.queue.stored.map(\.logs.bytes)
        #expect(stored.allSatisfy { logs.bytes.starts(with: $0) })
    }

    @Test("Nothing in it is fine, and nothing is stored")
    func empty() throws {
        let body = GroupTrailer(topic: "t").bytes
        #expect(try end.client.post(BadRequest.balanced, body).status == 200)
        #expect(end.queue.stored.isEmpty)
    }

    @Test("A page may sign its requests")
    func preflight() throws {
        let answer = try end.client.send("OPTIONS", "/logstores/app-log", [], ["origin": "null"])
        #expect(answer.status == 204)
        let allowed = answer["access-control-allow-headers"]?.split(separator: ", ") ?? []
        #expect(
            Set(allowed).isSuperset(of: [
                "authorization", "x-acs-security-token", "x-log-date", "x-log-signaturemethod",
            ])
        )
    }
}
