import Glibc
import JSON
import Logs
import Net
import System
import TestSupport
import Testing

@testable import Sandbox

/// The sandbox over real sockets.
@Suite(.timeLimit(.minutes(10))) struct SandboxServerTests {
    private func serve(
        _ change: (inout SandboxConfiguration) -> Void = { _ in }
    ) throws -> (SandboxServer, SandboxClient) {
        var configuration = SandboxConfiguration(
            listen: try ListenAddress(parsing: "127.0.0.1:0"),
            keys: [TestWrite.key, TestWrite.stsKey]
        )
        configuration.clock = { TestWrite.noon }
        change(&configuration)
        let server = try SandboxServer(configuration, journal: .silent)
        return (server, try SandboxClient(server.address))
    }

    private func stored(_ client: SandboxClient) throws -> Int? {
        try client.get("/stats").json?["stored"]?["requests"]?.wholeNumber
    }

    @Test
    func `A write and a look at it go over one connection`() throws {
        let (server, client) = try serve()
        defer { server.stop() }
        #expect(server.address.port != 0)
        let answer = try client.put(TestWrite())
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
        #expect(answer["x-log-requestid"]?.utf8.count == 24)
        #expect(answer["x-log-time"] == "1736843400")
        let logs = try client.get("/logs?logstore=app-log")
        #expect(logs["content-type"] == "application/x-ndjson")
        #expect(logs.json?["k"]?.text == "v")
        #expect(try client.get("/")["content-type"] == "text/html; charset=utf-8")
    }

    @Test
    func `Many clients at once lose nothing`() async throws {
        let (server, client) = try serve()
        defer { server.stop() }
        let address = server.address
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sender in 0..<4 {
                group.addTask {
                    let client = try SandboxClient(address)
                    for pack in 0..<25 {
                        var write = TestWrite()
                        write.version = pack % 2 == 0 ? .v1 : .v4
                        write.compression = .lz4
                        write.raw =
                            TestGroup(
                                logs: (0..<20).map {
                                    .init(fields: [("n", "\(sender)-\(pack)-\($0)")])
                                }
                            ).bytes
                        #expect(try client.put(write).status == 200)
                    }
                }
            }
            try await group.waitForAll()
        }
        let logs = try client.get("/logs?limit=100000")
        #expect(Set(logs.text.split(separator: "\n")).count == 2000)
    }

    @Test
    func `A reset is a reset, before or after storing`() throws {
        let (server, client) = try serve()
        defer { server.stop() }
        for (json, count) in [
            (#"{"reset":true,"count":1}"#, 0), (#"{"reset":true,"store":true,"count":1}"#, 1),
        ] {
            #expect(try client.ask("POST", "/faults", json).status == 200)
            let victim = try SandboxClient(server.address)
            #expect(throws: SandboxClient.Broken.reset) { try victim.put(TestWrite()) }
            #expect(try stored(client) == count)
        }
        #expect(try client.put(TestWrite()).status == 200)
    }

    @Test
    func `A truncated answer breaks off in its body`() throws {
        let (server, client) = try serve()
        defer { server.stop() }
        #expect(
            try client.ask("POST", "/faults", #"{"truncate":true,"store":true,"count":1}"#).status
                == 200
        )
        let victim = try SandboxClient(server.address)
        #expect(throws: SandboxClient.Broken.cut(32)) { try victim.put(TestWrite()) }
        #expect(try stored(client) == 1)
    }

    @Test
    func `A held answer comes when its fault is removed`() throws {
        let (server, client) = try serve()
        defer { server.stop() }
        #expect(try client.ask("POST", "/faults", #"{"hold":true,"count":1}"#).status == 200)
        let patient = try SandboxClient(server.address)
        try patient.send(TestWrite())
        // It is stored at once; only the answer waits.
        #expect(try client.get("/logs?wait_s=20").text.contains(#""k":"v""#))
        #expect(try client.get("/faults").json?["faults"]?[0]?["hits"]?.wholeNumber == 1)
        #expect(try client.ask("DELETE", "/faults").status == 200)
        #expect(try patient.receive().status == 200)
    }

    @Test
    func `Stopping lets held answers go`() throws {
        let (server, client) = try serve()
        #expect(try client.ask("POST", "/faults", #"{"hold":true}"#).status == 200)
        let patient = try SandboxClient(server.address)
        try patient.send(TestWrite())
        _ = try client.get("/logs?wait_s=20")
        server.stop()
        #expect(try patient.receive().status == 200)
    }

    @Test
    func `Latency delays the answer`() throws {
        let (server, client) = try serve()
        defer { server.stop() }
        #expect(try client.ask("POST", "/faults", #"{"latency_ms":150,"count":1}"#).status == 200)
        let begin = Moment.now
        #expect(try client.put(TestWrite()).status == 200)
        #expect(Moment.now - begin >= .milliseconds(150))
    }

    @Test
    func `Who waits is answered when enough logs have arrived`() async throws {
        let (server, client) = try serve()
        defer { server.stop() }
        let address = server.address
        async let waiting = Task {
            try SandboxClient(address, seconds: 60).get("/logs?logstore=app-log&min=3&wait_s=60")
                .text
        }.value
        for _ in 0..<3 { #expect(try client.put(TestWrite()).status == 200) }
        #expect(try await waiting.split(separator: "\n").count == 3)
    }

    @Test
    func `Who waits in vain gets what there is`() throws {
        let (server, client) = try serve()
        defer { server.stop() }
        #expect(try client.put(TestWrite()).status == 200)
        let logs = try client.get("/logs?min=2&wait_s=1")
        #expect(logs.status == 200)
        #expect(logs.text.split(separator: "\n").count == 1)
    }

    @Test
    func `A body that is too large is refused before it comes`() throws {
        let (server, client) = try serve { $0.limits.rawBytesMax = 1000 }
        defer { server.stop() }
        var write = TestWrite()
        write.wire = [UInt8](repeating: 0, count: 4000)
        let answer = try client.put(write)
        #expect(answer.status == 413)
        #expect(answer.json?["errorCode"]?.text == "PostBodyTooLarge")
        #expect(answer["x-log-requestid"]?.utf8.count == 24)
    }

    @Test
    func `Stopping twice is stopping once, and the port is free again`() throws {
        let (server, _) = try serve()
        server.stop()
        server.stop()
        let again = try serve { $0.listen = server.address }
        again.0.stop()
    }
}
