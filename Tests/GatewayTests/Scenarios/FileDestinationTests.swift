import Configuration
import Glibc
import Queue
import System
import TestGateway
import TestSupport
import Testing

@testable import Gateway
@testable import Operations

/// A gateway whose logs go to a file.
@Suite(.timeLimit(.minutes(1))) struct FileDestinationTests {
    private let directory = TemporaryDirectory()
    private var folder: String { "\(directory.path)/logs" }

    private func configuration(_ more: String = "") throws -> GatewayConfiguration {
        let file = directory.file(
            "sluice.yaml",
            """
            listen: 127.0.0.1:0
            data_dir: \(directory.path)/data
            admin: {listen: "127.0.0.1:0", token: "\(SandboxedGateway.token)"}
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

    private func admin(_ gateway: Gateway, _ path: String, _ body: String? = nil) throws -> String {
        let client = TestClient(address: gateway.adminAddress)
        let access = "Bearer \(SandboxedGateway.token)"
        guard let body else { return try client.get(path, ["authorization": access]).text }
        return try client.post(path, body.utf8, ["authorization": access]).text
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
        let devices = TestClient(address: gateway.deviceAddress)
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
        let devices = TestClient(address: gateway.deviceAddress)
        #expect(try devices.post("/logs/pv.home", #"{"a":"1"}"#.utf8).status == 200)
        #expect(eventually { (try? admin(gateway, "/admin/status"))?.contains("ENOENT") ?? false })
        let metrics = try admin(gateway, "/metrics")
        #expect(metrics.contains(#"destination="out",kind="write""#))
        _ = try admin(gateway, "/admin/destinations/out/pause", "")
        mkdir(folder, 0o755)
        #expect(gateway.report.queue.ledger.delivered == 0)
        _ = try admin(gateway, "/admin/destinations/out/resume", "")
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
        let devices = TestClient(address: gateway.deviceAddress)
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
