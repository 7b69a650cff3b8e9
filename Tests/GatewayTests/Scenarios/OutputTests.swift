import Configuration
import Glibc
import HTTP
import Queue
import System
import TestGateway
import TestHTTP
import TestSupport
import Testing

@testable import Gateway
@testable import Operations

/// A gateway whose logs go to a file.
@Suite(.timeLimit(.minutes(10))) struct FileDestinationTests {
    private let directory = TemporaryDirectory()
    private var folder: String { "\(directory.path)/logs" }

    private func configuration(_ more: String = "") throws -> GatewayConfiguration {
        let file = directory.gatewayFile(
            """
            destinations:
              out:
                kind: file
                path: \(folder)/a.ndjson
                packet: {age: 10ms}
                retry: {first: 10ms, most: 1s}
                \(more)
            """
        )
        return try .read(.init(file: file, environment: [:]))
    }

    private func gateway() throws -> Gateway {
        try Gateway(try configuration(), journal: .silent)
    }

    private func lines(_ name: String) -> [String] {
        readFile("\(folder)/\(name)").split(separator: 10).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test("Logs of any time and size go to a file as they are")
    func keeps() throws {
        mkdir(folder, 0o755)
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        let devices = gateway.deviceClient
        let (long, name) = (
            String(repeating: "v", count: 1 << 20 + 9), String(repeating: "n", count: 200)
        )
        let log = "{\"__time__\":1000000000,\"\(name)\":\"\(long)\"}"
        #expect(try devices.post("/logs/app", log.utf8).status == 200)
        #expect(eventually { lines("a.ndjson").count == 1 })
        let line = try #require(lines("a.ndjson").first)
        #expect(line.contains("\"date\":\"2001-09-09T01:46:40"))
        #expect(line.contains("\"\(name)\":\"\(long)\""))
        #expect(!line.contains("__original_time__") && !line.contains("__truncated__"))
        #expect(gateway.report.queue.ledger.dead == 0)
    }

    @Test("A file that cannot be written shows why, and takes the logs once it can")
    func paused() throws {
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        let devices = gateway.deviceClient
        #expect(try devices.post("/logs/pv.home", #"{"a":"1"}"#.utf8).status == 200)
        #expect(
            eventually { (try? gateway.ask("/admin/status"))?.text.contains("ENOENT") ?? false }
        )
        let metrics = try gateway.ask("/metrics").text
        #expect(metrics.contains(#"destination="out",kind="write""#))
        _ = try gateway.ask("POST", "/admin/destinations/out/pause")
        mkdir(folder, 0o755)
        #expect(gateway.report.queue.ledger.delivered == 0)
        _ = try gateway.ask("POST", "/admin/destinations/out/resume")
        #expect(eventually { gateway.report.queue.ledger.delivered == 1 })
        let written = lines("a.ndjson")
        #expect(written.count == 1)
        #expect(written[0].contains(#""tag":"pv.home","a":"1"}"#))
    }

    @Test("A reload opens the file again, with the settings that it then has")
    func reload() throws {
        mkdir(folder, 0o755)
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        let devices = gateway.deviceClient
        #expect(try devices.post("/logs/t", #"{"a":"1"}"#.utf8).status == 200)
        #expect(eventually { gateway.report.queue.ledger.delivered == 1 })
        rename("\(folder)/a.ndjson", "\(folder)/a.ndjson.1")
        #expect(try devices.post("/logs/t", #"{"a":"2"}"#.utf8).status == 200)
        #expect(eventually { gateway.report.queue.ledger.delivered == 2 })
        #expect(lines("a.ndjson").count == 1 && lines("a.ndjson.1").count == 1)
        gateway.reload(try configuration("shape: nested"))
        #expect(
            eventually {
                _ = try? devices.post("/logs/t", #"{"a":"3"}"#.utf8)
                return lines("a.ndjson").contains { $0.contains(#""fields":{"a":"3"}"#) }
            }
        )
    }
}

/// A gateway whose logs go to an HTTP server.
@Suite(.timeLimit(.minutes(10))) struct HTTPDestinationTests {
    /// The settings of a file, with the only destination of kind http.
    private func gateway(
        to url: String,
        _ directory: TemporaryDirectory,
        _ more: String = "",
        archive: Bool = false,
        queue: String = "4GiB"
    ) throws -> Gateway {
        let file = directory.gatewayFile(
            """
            queue: {max_bytes: \(queue)}
            destinations:
              out: {kind: http, url: "\(url)", packet: {age: 10ms}, \(more)}
            \(archive ? Self.withArchive(directory) : "")
            """
        )
        return try Gateway(try .read(.init(file: file, environment: [:])), journal: .silent)
    }

    /// A file as a second destination of all logs but those that a filter drops.
    private static func withArchive(_ directory: TemporaryDirectory) -> String {
        """
          archive: {kind: file, path: \(archive(directory)), packet: {age: 10ms}}
        filters: [{steps: [{drop: true, when: {field: path, is: /health}}]}]
        routes: [{to: [out, archive]}]
        """
    }

    private static func archive(_ directory: TemporaryDirectory) -> String {
        "\(directory.path)/archive.ndjson"
    }

    @Test("Logs of any address arrive, and the status tells of them without a secret")
    func arrives() throws {
        let server = try RecordingServer { _, _ in Response(status: 200) }
        defer { server.stop() }
        let directory = TemporaryDirectory()
        let gateway = try gateway(
            to: "\(server.url)/in?key=canary-key",
            directory,
            "compress: none, body: ndjson, headers: {authorization: \"Bearer canary-token\"}"
        )
        defer { gateway.stop(within: .zero) }
        let devices = gateway.deviceClient
        #expect(try devices.post("/logs/pv.home", #"{"a":"1"}"#.utf8).status == 200)
        let track = #"{"__logs__":[{"b":"2"}]}"#
        #expect(try devices.post("/logstores/any-log/track", track.utf8).status == 200)
        #expect(eventually { gateway.report.queue.ledger.delivered == 2 })
        let texts = server.requests.map(\.text).joined()
        #expect(texts.contains(#""a":"1""#) && texts.contains(#""b":"2""#))
        #expect(texts.contains(#""tag":"pv.home""#))
        #expect(server.requests.allSatisfy { $0.fields["authorization"] == "Bearer canary-token" })
        for path in ["/admin/status", "/admin/destinations", "/admin/destinations/out", "/metrics"]
        {
            let text = try gateway.ask(path).text
            #expect(!text.contains("canary"), "\(path)")
        }
        let status = try gateway.ask("/admin/status").text
        #expect(status.contains(#""kind":"http""#))
        #expect(status.contains(#""project":null"#))
    }

    @Test("A Sluice behind a Sluice stores nothing twice when answers are lost")
    func chain() throws {
        let behind = try SandboxedGateway()
        let address = behind.gateway.deviceAddress
        let relay = try RecordingServer { request, number in
            let answer = try? TestClient(address: address).post(
                "/logs/chain",
                request.body,
                [
                    "content-type": request.fields["content-type"] ?? "",
                    "content-encoding": "gzip",
                    "idempotency-key": request.fields["idempotency-key"] ?? "",
                ]
            )
            // Every other answer is lost, after the logs were stored.
            guard let answer, answer.status == 200, number % 2 == 1 else {
                return Response(status: 502)
            }
            return Response(status: 200)
        }
        defer { relay.stop() }
        let directory = TemporaryDirectory()
        let front = try gateway(
            to: "\(relay.url)/in",
            directory,
            "retry: {first: 10ms, most: 100ms}, concurrency: 1",
            archive: true
        )
        defer { front.stop(within: .zero) }
        for number in 0..<20 {
            let log = #"{"n":"\#(number)"}"#
            let answer = try front.deviceClient.post("/logs/t", log.utf8)
            #expect(answer.status == 200)
        }
        #expect(eventually { front.report.queue.ledger.delivered == 40 })
        #expect(readFile(Self.archive(directory)).count { $0 == 10 } == 20)
        #expect(behind.delivered(20))
        #expect(behind.gateway.report.queue.ledger.accepted == 20)
        #expect(
            relay.requests.count > Set(relay.requests.map { $0.fields["idempotency-key"] }).count
        )
    }

    @Test(
        "A destination that takes nothing for long holds up no other one, and has all in the end",
        arguments: ["down", "paused"]
    )
    func longAway(how: String) throws {
        let isDown = Locked(how == "down")
        let server = try RecordingServer { _, _ in
            Response(status: isDown.withLock { $0 } ? 503 : 200)
        }
        defer { server.stop() }
        let directory = TemporaryDirectory()
        let gateway = try gateway(
            to: "\(server.url)/in",
            directory,
            "compress: none, body: ndjson, retry: {first: 10ms, most: 100ms}",
            archive: true
        )
        defer { gateway.stop(within: .zero) }
        func order(_ what: String) throws {
            let path = "/admin/destinations/out/\(what)"
            #expect(try gateway.ask("POST", path).status == 200)
        }
        if how == "paused" { try order("pause") }
        var expected: [String] = []
        for number in 0..<50 {
            let logs = (0..<4).map { #"{"n":"\#(number).\#($0)"}"# }
            let body = "[\(logs.joined(separator: ",")),{\"path\":\"/health\"}]"
            let answer = try gateway.deviceClient.post("/logs/t", body.utf8)
            #expect(answer.status == 200)
            expected += (0..<4).map { "\(number).\($0)" }
            // One after the other: what waits for one destination is no reason to wait for the
            // other.
            #expect(
                eventually {
                    gateway.report.queue.destinations["archive"]?.ledger.delivered
                        == Int64(expected.count)
                }
            )
        }
        var queue = gateway.report.queue
        #expect(queue.destinations["out"]?.ledger.queued == 200 && queue.ledger.isClosed)
        #expect(queue.intake == .init(received: 250, filtered: 50, routed: 200, copies: 400))

        if how == "paused" { try order("resume") }
        isDown.withLock { $0 = false }
        #expect(eventually { gateway.report.queue.ledger.delivered == 400 })
        queue = gateway.report.queue
        #expect(queue.ledger.queued == 0 && queue.ledger.isClosed)
        #expect(queue.intake == .init(received: 250, filtered: 50, routed: 200, copies: 400))
        let archive = String(decoding: readFile(Self.archive(directory)), as: UTF8.self)
        let taken = server.requests.map(\.text).joined()
        for text in [archive, taken] {
            #expect(expected.allSatisfy { text.contains(#""n":"\#($0)""#) })
            #expect(!text.contains("/health"))
        }
        #expect(archive.split(separator: "\n").count == expected.count)
    }

    @Test("An optional destination fills no more than half of the queue, and is then skipped")
    func optional() throws {
        let server = try RecordingServer { _, _ in Response(status: 503) }
        defer { server.stop() }
        let directory = TemporaryDirectory()
        let gateway = try gateway(
            to: "\(server.url)/in",
            directory,
            "required: false, retry: {first: 10ms, most: 100ms}",
            archive: true,
            queue: "8MiB"
        )
        defer { gateway.stop(within: .zero) }
        var random = SystemRandomNumberGenerator()
        let logs = 40
        // Incompressible for lz4: 40 of them are more than the queue may hold.
        let text = (0..<25_000).map { _ in String(random.next() as UInt64, radix: 36) }.joined()
        for number in 1...logs {
            let body = #"{"n":"\#(number)","text":"\#(text)"}"#
            let answer = try gateway.deviceClient.post("/logs/t", body.utf8)
            #expect(answer.status == 200)
            #expect(
                eventually {
                    gateway.report.queue.destinations["archive"]?.ledger.delivered == Int64(number)
                }
            )
        }
        let queue = gateway.report.queue
        let out = try #require(queue.destinations["out"])
        #expect(out.bytesMax == 4 << 20)
        #expect(out.bytes <= 4 << 20)
        #expect(out.ledger.queued > 0 && out.ledger.skipped > 0)
        #expect(out.ledger.accepted + out.ledger.skipped == Int64(logs))
        #expect(queue.destinations["archive"]?.ledger.skipped == 0)
        #expect(queue.ledger.isClosed)
        #expect(queue.intake == .init(received: 40, filtered: 0, routed: 40, copies: 80))
        #expect(readFile(Self.archive(directory)).count { $0 == 10 } == logs)
        let status = try gateway.ask("/admin/destinations/out").text
        #expect(status.contains(#""skipped":\#(out.ledger.skipped)"#))
    }
}
