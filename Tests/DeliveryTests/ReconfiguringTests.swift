import Configuration
import Glibc
import HTTPClient
import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(10))) struct ReconfiguringTests {
    let source = MemorySource()

    func stored(_ number: Int64) -> Bool {
        source.offer(number)
        return source.state.wait { $0.acknowledged.contains(number) }
    }

    @Test("The next request goes to the new endpoint and project, with the new packing")
    func nextRequest() throws {
        let (old, new) = (try ScriptedServer(), try ScriptedServer())
        let rig = try Rig(source, old)
        #expect(stored(1))
        var settings = try Samples.destination(port: new.port, compression: .zstd)
        settings.project = "other-project"
        settings.signature = .v1
        try rig.forwarder.use([settings])
        #expect(stored(2))
        rig.stop()
        new.stop()
        #expect(old.requests.now.count == 1)
        let request = try #require(new.requests.now.first)
        #expect(request.header("x-log-compresstype") == "zstd")
        #expect(request.header("x-log-project") == "other-project")
        #expect(request.header("authorization")?.hasPrefix("LOG ") == true)
        #expect(rig.status.endpoint == "http://127.0.0.1:\(new.port)")
        #expect(rig.status.project == "other-project")
    }

    @Test("A packet of a destination that does not run is given back")
    func packetOfClosed() throws {
        let rig = try Rig(source, try ScriptedServer())
        source.offer(1, to: "closed")
        source.request(1, for: Outlet(destination: "closed", logstore: "app-log"))
        #expect(source.state.wait { $0.givenBack == [1] })
        rig.stop()
    }

    @Test("A request that is in flight ends as it began")
    func inFlight() throws {
        let old = try TestSandbox()
        let new = try TestSandbox()
        try old.fail(#"{"hold":true}"#)
        let forwarder = try TestSandbox.forwarder(source, [old])
        source.offer(1)
        #expect(try eventually { () throws in try old.has(packet: 1) })
        var settings = try Samples.destination(port: new.port)
        settings.transfer.concurrency = 3
        try forwarder.use([settings])
        #expect(stored(2))
        #expect(try new.has(packet: 2))
        try old.wellAgain()
        #expect(source.state.wait { $0.acknowledged.contains(1) })
        #expect(try !new.has(packet: 1))
        forwarder.stop(old, new)
    }

    @Test("A destination that waits because of its settings goes on with others at once")
    func wakes() throws {
        let server = try ScriptedServer { request, _ in
            request.header("x-log-project") == "demo-project"
                ? .answer(404, code: "ProjectNotExist") : .stored
        }
        let rig = try Rig(source, server)
        source.offer(1)
        #expect(server.requests.wait { $0.count >= 5 })
        var settings = try Samples.destination(port: server.port)
        settings.project = "right-project"
        try rig.forwarder.use([settings])
        #expect(source.state.wait(.seconds(3)) { $0.acknowledged == [1] })
        rig.stop()
    }

    @Test("A gate that was closed under other settings shows that these are being tried")
    func shownAsTried() throws {
        let server = try ScriptedServer { request, _ in
            request.header("x-log-project") == "demo-project"
                ? .answer(404, code: "ProjectNotExist") : .silence
        }
        let rig = try Rig(source, server)
        source.offer(1)
        #expect(server.requests.wait { $0.count >= 3 })
        var settings = try Samples.destination(port: server.port)
        settings.project = "right-project"
        try rig.forwarder.use([settings])
        let tried = DestinationStatus.State.paused(
            reason: "the settings changed; one request at a time tries them",
            until: nil
        )
        #expect(eventually { rig.status.state == tried })
        rig.forwarder.stop(within: .zero)
        server.stop()
    }

    @Test("So does one whose project has asked for rest")
    func wakesFromRest() throws {
        let server = try ScriptedServer { _, number in
            number == 1
                ? .answer(403, code: "WriteQuotaExceed", message: "qps", retryAfter: 600) : .stored
        }
        let rig = try Rig(source, server)
        #expect(stored(1))
        source.offer(2)
        #expect(rig.recorder.lines.wait { $0.contains { $0.contains("WriteQuotaExceed") } })
        try rig.forwarder.use([try Samples.destination(port: server.port)])
        #expect(source.state.wait { $0.acknowledged.contains(2) })
        rig.stop()
    }

    @Test("As many requests are in flight as the new concurrency says")
    func concurrency() throws {
        let isSilent = Locked(false)
        let server = try ScriptedServer { _, _ in
            isSilent.withLock { $0 } ? .silence : .stored
        }
        let rig = try Rig(source, server) { $0.transfer.concurrency = 2 }
        // A gate begins carefully, and grows with what goes well.
        for number in 1...30 as ClosedRange<Int64> { source.offer(number) }
        #expect(source.state.wait { $0.acknowledged.count == 30 })
        isSilent.withLock { $0 = true }
        for number in 31...50 as ClosedRange<Int64> { source.offer(number) }
        #expect(server.requests.wait { $0.count == 32 })
        var settings = try Samples.destination(port: server.port)
        settings.transfer.concurrency = 6
        try rig.forwarder.use([settings])
        #expect(server.requests.wait { $0.count == 36 })
        #expect(rig.status.inFlight == 6)
        rig.forwarder.stop(within: .zero)
        server.stop()
        #expect(server.requests.now.count == 36)
    }

    @Test("Another credential of another name is asked for")
    func credentialName() throws {
        let server = try ScriptedServer()
        let asked = Locked<[String]>([])
        let forwarder = try Forwarder.started(
            [try Samples.destination(port: server.port)],
            source: source,
            credentials: { name in
                asked.withLock { $0.append(name) }
                return name == "second" ? Samples.credential : nil
            }
        )
        var settings = try Samples.destination(port: server.port)
        settings.credential = "second"
        try forwarder.use([settings])
        #expect(stored(1))
        forwarder.stop(server)
        #expect(asked.withLock { $0 }.contains("second"))
    }

    @Test("Connections through a proxy are not used again when its password was another")
    func proxyPassword() throws {
        let tls = try TLSServer(for: "localhost")
        defer { tls.stop() }
        let tunnel = try TunnelProxy(.connect)
        let endpoint = try Endpoint(parsing: "https://localhost:\(tls.port)")
        func settings(_ password: String) throws -> Destination {
            var settings = try Samples.destination(port: 1)
            settings.endpoints = [endpoint]
            settings.transfer.transport.certificateAuthorities = tls.certificate
            settings.transfer.transport.proxy = try Proxy(
                parsing: "http://a:\(password)@127.0.0.1:\(tunnel.port)"
            )
            return settings
        }
        func answer() {
            _ = tls.output.read(until: "POST /logstores/app-log")
            tls.input.write(
                "HTTP/1.1 200 OK\r\nx-log-requestid: 5642FC2399248C8F7B0145FD\r\n"
                    + "Content-Length: 0\r\n\r\n"
            )
        }
        let before = try settings("old")
        let rig = try Rig(source, ScriptedServer()) { $0 = before }
        source.offer(1)
        answer()
        #expect(source.state.wait { $0.acknowledged == [1] })
        try rig.forwarder.use([try settings("new")])
        source.offer(2)
        // `s_server` serves one connection after another: the old one has to end first.
        #expect(tunnel.visits.wait { $0.count == 2 })
        rig.forwarder.stop(within: .zero)
        rig.server.stop()
        tunnel.stop()
        let heads = tunnel.visits.now.map(\.head)
        #expect(heads[0].contains("Basic YTpvbGQ="))
        #expect(heads[1].contains("Basic YTpuZXc="))
    }

    @Test("Connections from before another file of authorities are left, later ones are used again")
    func authorities() throws {
        let directory = TemporaryDirectory()
        let server = try ScriptedServer()
        let rig = try Rig(source, server) { $0.transfer.transport.certificateAuthorities = nil }
        #expect(stored(1) && stored(2))
        var settings = try Samples.destination(port: server.port)
        settings.transfer.transport.certificateAuthorities = "\(directory.path)/authorities.pem"
        try rig.forwarder.use([settings])
        #expect(stored(3))
        // curl counts the ages of connections in whole seconds, and takes its own clock for it.
        usleep(2_100_000)
        for number in 4...9 as ClosedRange<Int64> { #expect(stored(number)) }
        rig.stop()
        let connections = server.requests.now.map(\.connection)
        #expect(connections[0] == connections[1])
        #expect(!connections[2...].contains(connections[0]))
        #expect(Set(connections).count <= 3)
    }

    @Test("Settings that leave the endpoints as they are do not lead back to a silent one")
    func sameEndpoints() throws {
        let (first, second) = (try TestSandbox(), try TestSandbox())
        try first.fail(#"{"reset":true}"#)
        let recorder = JournalRecorder()
        let forwarder = try TestSandbox.forwarder(source, [first, second], recorder.journal)
        #expect(stored(1))
        var settings = try Samples.destination(port: 1)
        settings.endpoints = [try first.endpoint(), try second.endpoint()]
        settings.transfer.concurrency = 4
        try forwarder.use([settings])
        #expect(stored(2))
        #expect(try second.has(packet: 2))
        #expect(forwarder.status[0].endpoint == "\(try second.endpoint())")
        forwarder.stop(first, second)
        #expect(recorder.count(of: "destination uses another endpoint") == 1)
    }

    @Test("Invalid settings, or a new destination that cannot be written, change nothing at all")
    func refused() throws {
        let servers = try (0..<3).map { _ in try ScriptedServer() }
        let forwarder = try Forwarder.started(
            [
                try Samples.destination(port: servers[0].port, name: "app"),
                try Samples.destination(port: servers[1].port, name: "other"),
            ],
            source: source
        )
        let good = try Samples.destination(port: servers[2].port, name: "app")
        var bad = try Samples.destination(port: servers[2].port, name: "other")
        bad.region = nil
        let broken = #expect(throws: DeliveryError.self) { try forwarder.use([good, bad]) }
        #expect(broken?.description.contains("destination other: ") == true)
        let lost = Samples.fileDestination(FileTarget(path: "/nowhere/new.ndjson"), name: "new")
        let unwritable = #expect(throws: DeliveryError.self) { try forwarder.use([good, lost]) }
        #expect(unwritable?.description.contains("destination new: /nowhere/new.ndjson") == true)
        #expect(forwarder.status.map(\.name) == ["app", "other"])
        #expect(throws: DeliveryError.self) { try forwarder.use([good, good]) }
        #expect(stored(1))
        forwarder.stop(within: .seconds(5))
        for server in servers { server.stop() }
        #expect(servers.map { $0.requests.now.count } == [1, 0, 0])
    }
}

@Suite struct DestinationOutputTests {
    @Test(
        "A request's time grows with its body",
        arguments: [(0, 15), (512 << 10, 47), (1 << 20, 79), (10 << 20, 655)]
    )
    func timeLimit(bytes: Int, seconds: Int) throws {
        let settings = try Samples.destination(port: 80)
        #expect(settings.timeLimit(bodyBytes: bytes) == .seconds(seconds))
    }

    @Test("Two destinations need two names")
    func names() throws {
        let settings = try Samples.destination(port: 80)
        #expect(throws: DeliveryError.self) {
            try Forwarder.started([settings, settings], source: MemorySource())
        }
    }
}
