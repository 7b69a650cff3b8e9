import Configuration
import HTTP
import Ingest
import Logs
import Queue
import System
import TestSupport
import Testing

/// `DeviceHandler.prepare`: requests whose content may be too much work for a loop go to a worker
/// thread.
@Suite(.timeLimit(.minutes(10))) struct LargeBodyTests {
    struct Body: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let path: String
        let content: [UInt8]
        let fields: [(String, String)]

        init(
            _ name: String,
            path: String = "/logs/app",
            _ content: [UInt8],
            fields: (String, String)...
        ) {
            (testDescription, self.path, self.content, self.fields) = (name, path, content, fields)
        }
    }

    private static let short = 128 << 10
    private static let putLogs = "/logstores/app-log"
    private static let protobuf = ("content-type", "application/x-protobuf")
    private static let lines = ("content-type", "text/plain")
    private static let zstd = ("content-encoding", "zstd")
    private static let lz4 = ("x-log-compresstype", "lz4")
    private static let packages = ("x-log-mode", "batch_group")

    private static func blanks(_ count: Int) -> [UInt8] { [UInt8](repeating: 0x20, count: count) }

    private static func repeated(_ text: String, _ bytes: Int) -> [UInt8] {
        Array(String(repeating: text, count: bytes / text.utf8.count).utf8)
    }

    /// Logs of ten fields, as applications write them.
    private static let ordinary: [UInt8] = {
        let fields = (0..<10).map {
            #""field_\#($0)":"some words about what happened here, no. \#($0)""#
        }
        return repeated("{\(fields.joined(separator: ","))}\n", 900_000)
    }()

    private static let small = [
        Body("a mebibyte of blanks", blanks(1 << 20)), Body("ordinary logs, 900 KB", ordinary),
        Body("lines of one byte, 128 KiB", repeated("x\n", short), fields: lines),
        Body("protobuf, 128 KiB", path: putLogs, blanks(short)),
        Body("zstd of 128 KiB", Zstd.compress(blanks(short)), fields: zstd),
        Body("not zstd", blanks(6000), fields: zstd),
        Body("compressed, 128 KiB in its head", path: putLogs, blanks(1000), fields: lz4, raw(0)),
    ]

    private static let large = [
        Body("a mebibyte and a byte", blanks(1 << 20 + 1)),
        Body("lines of one byte, 256 KiB", repeated("x\n", 2 * short), fields: lines),
        Body("no text, 384 KiB", [UInt8](repeating: 0xff, count: 3 * short), fields: lines),
        Body("protobuf, a byte more", path: putLogs, blanks(short + 1)),
        Body("OTLP in protobuf", path: "/v1/logs", blanks(short + 1), fields: protobuf),
        Body("zstd of a byte more", Zstd.compress(blanks(short + 1)), fields: zstd),
        Body(
            "compressed, a byte more in its head",
            path: putLogs,
            blanks(1000),
            fields: lz4,
            raw(1)
        ),
        Body("packages, each compressed", path: putLogs, blanks(6000), fields: protobuf, packages),
        Body(
            "compressed by the rules of its dialect",
            path: "/loki/api/v1/push",
            [0x80, 0x80, 0x10] + blanks(6000),
            fields: protobuf
        ),
    ]

    /// The head declares so many bytes more than 128 KiB.
    private static func raw(_ more: Int) -> (String, String) {
        ("x-log-bodyrawsize", "\(short + more)")
    }

    @Test("The expected work decides which requests are large", arguments: small + large)
    func rule(body: Body) throws {
        let end = try DeviceListener()
        let fields = body.fields.map { "\($0): \($1)\r\n" }.joined()
        let head =
            "POST \(body.path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(fields)"
            + "Content-Length: \(body.content.count)\r\n\r\n"
        _ = try end.client.exchange(Array(head.utf8) + body.content)
        let isLarge = Self.large.contains { $0.testDescription == body.testDescription }
        #expect(end.server.counters[.largeStarted] == (isLarge ? 1 : 0))
    }

    @Test("Filters may cost more than reading, so with them text beyond 128 KiB is large")
    func filtered() throws {
        let filters = "filters: [{ steps: [{ remove: [a] }] }]\n"
        let end = try DeviceListener(filters + DeviceListener.twoDestinations)
        for (bytes, started) in [(Self.short, 0), (2 * Self.short, 1)] {
            #expect(try end.client.post("/logs/app", Self.blanks(bytes)).status > 0)
            #expect(end.server.counters[.largeStarted] == started)
        }
    }

    @Test("A split copies fields for each element, so with it a small body is large")
    func split() throws {
        let filters = "filters: [{ steps: [{ split: { field: items, most: 1000 } }] }]\n"
        let end = try DeviceListener(filters + DeviceListener.twoDestinations)
        let items = Array(repeating: "1", count: 500).joined(separator: ",")
        let body = Array(#"{"items":[\#(items)]}"#.utf8)
        #expect(try end.client.post("/logs/app", #"{"items":[1]}"#.utf8).status == 200)
        #expect(end.server.counters[.largeStarted] == 0)
        #expect(try end.client.post("/logs/app", body).status == 200)
        #expect(end.server.counters[.largeStarted] == 1)
        let coding: KeyValuePairs = ["content-encoding": "zstd"]
        #expect(try end.client.post("/logs/app", Zstd.compress(body), coding).status == 200)
        #expect(end.server.counters[.largeStarted] == 2)
    }

    @Test("Content that a loop inflates to estimate its cost belongs to its body alone")
    func prepared() throws {
        let end = try DeviceListener()
        for text in ["one", "two"] {
            let body = Zstd.compress(Array(#"[{"text":"\#(text)"}]"#.utf8))
            #expect(
                try end.client.post("/logs/app", body, ["content-encoding": "zstd"]).status == 200
            )
        }
        let values = try end.queue.stored.flatMap { try $0.entries() }.map {
            $0.fields.map(\.value)
        }
        #expect(values == [["one"], ["two"]])
    }

    @Test("Logs of a large body are stored, and its budget is free again")
    func stored() throws {
        let end = try DeviceListener()
        let log = #"{"text":"\#(String(repeating: "x", count: 1000))"}"#
        let body = "[\(Array(repeating: log, count: 2000).joined(separator: ","))]"
        let answer = try end.client.post("/logs/app", Array(body.utf8))
        #expect(answer.status == 200)
        #expect(end.queue.stored.reduce(0) { $0 + $1.logs.count } == 2000)
        #expect(end.server.counters[.largeStarted] == 1)
        #expect(end.server.counters[.heldBodies] == 0)
    }

    @Test("A large request that is named is recognized when it comes again")
    func named() throws {
        let end = try DeviceListener()
        let body = Array(#"[{"a":1}]"#.utf8) + [UInt8](repeating: 0x20, count: 2 << 20)
        for _ in 0..<2 {
            let answer = try end.client.post("/logs/app", body, ["idempotency-key": "one"])
            #expect(answer.status == 200)
        }
        #expect(end.queue.identities.count == 2)
        #expect(end.queue.identities[0] != nil)
        #expect(end.queue.identities[0]?.digest == end.queue.identities[1]?.digest)
    }

    @Test("A worker's first request after a reload goes by the new keys and dialects")
    func reloaded() throws {
        let end = try DeviceListener("devices: { accept: json }\n\(DeviceListener.twoDestinations)")
        let blank = [UInt8](repeating: 0x20, count: 2 << 20)
        #expect(try end.client.post("/logs/app", Array("[]".utf8) + blank).status == 200)
        end.shared.door.replace(DeviceSettings())
        let event = Array(#"{"event":1}"#.utf8)
        let answer = try end.client.post("/services/collector", event + blank)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(end.server.counters[.largeStarted] == 2)
    }
}
