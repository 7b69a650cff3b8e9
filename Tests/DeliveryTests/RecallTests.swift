import Configuration
import Glibc
import HTTPClient
import Logs
import Queue
import SLS
import SQLiteQueue
import System
import TestSupport
import Testing

@testable import Delivery

/// Packets that the queue wants back.
@Suite(.timeLimit(.minutes(10))) struct RecallTests {
    private let outlet = Outlet(destination: "app", logstore: "app-log")

    /// A destination that waits for its credential with packets that it was given before.
    private func waiting(_ source: MemorySource, _ server: ScriptedServer) throws -> Rig {
        let rig = try Rig(source, server) { $0.transfer.retry = PauseTests.quick }
        for number in 1...3 as ClosedRange<Int64> { source.offer(number) }
        #expect(server.requests.wait { !$0.isEmpty })
        rig.credential.withLock { $0 = nil }
        rig.forwarder.credentialsChanged()
        #expect(eventually { rig.status.isWaitingForCredential })
        return rig
    }

    @Test("A packet that came with its content is not sent when it was recalled meanwhile")
    func recent() throws {
        let rig = try Rig(ScriptedServer(), credential: nil)
        rig.source.recall([1], of: outlet, isSaid: false)
        rig.source.offer(1)
        rig.source.offer(2)
        rig.credential.withLock { $0 = Samples.credential }
        rig.forwarder.credentialsChanged()
        #expect(rig.source.state.wait { $0.acknowledged == [2] })
        #expect(rig.source.state.wait { $0.givenBack == [1] })
        rig.stop()
    }

    @Test("While nothing may be sent, recalled packets are given back without an attempt")
    func idle() throws {
        let source = MemorySource()
        let server = try ScriptedServer { _, _ in .answer(401, code: "Unauthorized") }
        let rig = try waiting(source, server)
        #expect(eventually { rig.status.inFlight == 0 })
        let held = source.state.now.unsettled
        #expect(!held.isEmpty)
        let requests = server.requests.now.count
        source.recall(held, of: outlet)
        #expect(source.state.wait { Set($0.givenBack) == held })
        #expect(server.requests.now.count == requests)
        rig.stop()
    }

    @Test(
        "When all was recalled while there was no credential, the next one is asked for again",
        arguments: [
            ScriptedServer.Reply.answer(401, code: "SignatureNotMatch"),
            .answer(403, code: "ProjectForbidden"),
            .answer(503, code: "ServerBusy", retryAfter: 1),
        ]
    )
    func asksAgain(refusal: ScriptedServer.Reply) throws {
        let isWell = Locked(false)
        let server = try ScriptedServer { _, _ in isWell.withLock { $0 } ? .stored : refusal }
        let rig = try Rig(server) { $0.transfer.retry = PauseTests.quick }
        // More than are asked for, so that nothing that was asked for is left.
        for number in 1...40 as ClosedRange<Int64> { rig.source.offer(number) }
        #expect(eventually { rig.status.isPaused })
        rig.credential.withLock { $0 = nil }
        #expect(eventually { rig.status.isWaitingForCredential })
        rig.source.expire()
        #expect(rig.source.state.wait { $0.unsettled.isEmpty })
        isWell.withLock { $0 = true }
        rig.credential.withLock { $0 = Samples.credential }
        rig.forwarder.credentialsChanged()
        #expect(eventually { !rig.status.isWaitingForCredential })
        rig.source.offer(101)
        #expect(rig.source.state.wait(.seconds(5)) { $0.acknowledged == [101] })
        rig.stop()
    }
}

/// What is said about old settings says nothing about the new ones.
@Suite(.timeLimit(.minutes(10))) struct LateResultsTests {
    let source = MemorySource()
    let gate = SharedValue(false)

    /// Answers requests for that only when the gate is open; all others at once.
    func server(
        holding isHeld: @escaping @Sendable (ScriptedServer.Request) -> Bool,
        _ late: ScriptedServer.Reply,
        others: ScriptedServer.Reply
    ) throws -> ScriptedServer {
        try ScriptedServer { [gate] request, _ in
            guard isHeld(request) else { return others }
            while !gate.now { gate.wait(.milliseconds(20)) { $0 } }
            return late
        }
    }

    static func quick(_ settings: inout Destination) {
        settings.transfer.retry = Backoff(first: .milliseconds(1), longest: .milliseconds(10))
    }

    @Test("A packet stored with the old settings proves no packet at fault that the new ones spoil")
    func evidence() throws {
        let server = try server(
            holding: { $0.header("x-log-compresstype") == "lz4" },
            .stored,
            others: .answer(400, code: "InvalidCompressType")
        )
        let rig = try Rig(source, server) { Self.quick(&$0) }
        source.offer(1)
        #expect(server.requests.wait { $0.count == 1 })
        var settings = try Samples.destination(port: server.port, compression: .zstd)
        Self.quick(&settings)
        try rig.forwarder.use([settings])
        source.offer(2, logs: [Samples.log("innocent")])
        #expect(server.requests.wait { $0.count >= 3 })
        gate.change { $0 = true }
        #expect(source.state.wait { $0.acknowledged == [1] })
        let soFar = server.requests.now.count
        #expect(server.requests.wait { $0.count >= soFar + 10 })
        #expect(source.state.now.dead.isEmpty)
        rig.stop()
    }

    @Test("A refusal of the old project is not the reason why the new one is paused")
    func reason() throws {
        let server = try server(
            holding: { $0.header("x-log-project") == "demo-project" },
            .answer(404, code: "ProjectNotExist"),
            others: .answer(403, code: "ProjectForbidden")
        )
        let rig = try Rig(source, server) { Self.quick(&$0) }
        source.offer(1)
        #expect(server.requests.wait { $0.count == 1 })
        var settings = try Samples.destination(port: server.port)
        settings.project = "other-project"
        Self.quick(&settings)
        try rig.forwarder.use([settings])
        source.offer(2)
        #expect(
            rig.recorder.lines.wait { $0.contains { $0.contains("destination is paused") } }
        )
        gate.change { $0 = true }
        #expect(eventually { rig.status.failures[.notFound] == 1 })
        let soFar = server.requests.now.count
        #expect(server.requests.wait { $0.count >= soFar + 3 })
        rig.forwarder.stop(within: .zero)
        server.stop()
        let paused = rig.recorder.lines.now.filter { $0.contains("destination is paused") }
        #expect(paused.allSatisfy { $0.contains("ProjectForbidden") })
    }

    @Test("A destination that moves leaves no silence behind at the old endpoint")
    func silence() throws {
        let (old, new) = (try Samples.destination(port: 1), try Samples.destination(port: 2))
        let shared = DeliveryThreadState(memoryMax: 64 << 20, BodyEncoders {})
        let dependencies = DestinationSender.Dependencies(
            source: source,
            credentials: CredentialDoor { _ in nil },
            journal: .silent,
            now: { .now }
        )
        let destination = DestinationSender(
            try SLSOutput(old, userAgent: "t"),
            shared,
            status: Locked(DestinationStatus(old)),
            dependencies
        )
        let key = EndpointKey.server(old.endpoints[0], proxy: nil)
        let endpoint = shared.endpoints.join(key, places: 8, waits: old.transfer.retry)
        let outlet = Outlet(destination: "app", logstore: "app-log")
        destination.announced(outlet)
        let now = Moment.now
        let silence = Judge.judge(TransportProblem(.gotNothing, detail: ""))
        _ = endpoint.leave(
            endpoint.gate.enter(now, bytes: 1),
            silence,
            as: .failed,
            of: outlet,
            now
        )
        #expect(endpoint.hearsWitnesses)
        destination.reconfigure(try SLSOutput(new, userAgent: "t"), now)
        #expect(!endpoint.hearsWitnesses)
    }
}

@Suite(.timeLimit(.minutes(10))) struct StoredPacketsTests {
    @Test("Packets of the real queue are delivered, also those that are read again from disk")
    func delivers() throws {
        let directory = TemporaryDirectory()
        var configuration = QueueConfiguration(directory: directory.path, freeBytesMin: 0)
        let limits = PacketLimits(logs: 100, age: .milliseconds(10))
        configuration.destinations = ["app": DestinationRules(packet: limits)]
        let store = try DurableQueue(configuration, journal: .silent)
        // Every other request fails, so that content is asked for a second time.
        let server = try ScriptedServer { _, number in
            number % 2 == 0 ? .answer(503, code: "ServerBusy") : .stored
        }
        let recorder = JournalRecorder()
        let forwarder = try Forwarder.started(
            [Samples.destination(port: server.port, compression: .none)],
            source: store,
            journal: recorder.journal
        )
        let stored = SharedValue(0)
        let trailer = GroupTrailer(topic: "t", source: "s", tags: [("a", "b")])
        for seed in 0..<20 {
            let batch = Batch(
                stream: StreamKey(destination: "app", logstore: "app-log", trailer: trailer),
                logs: EncodedLogs(bytes: Samples.logs(seed: seed), count: Samples.logsPerRow)
            )
            store.append([batch]) { outcome in
                if outcome == .stored { stored.change { $0 += 1 } }
            }
        }
        #expect(stored.wait { $0 == 20 })
        let logs = 20 * Samples.logsPerRow
        #expect(eventually { forwarder.status[0].sentLogs >= logs })
        forwarder.stop(within: .seconds(5))
        store.close()
        server.stop()
        let status = forwarder.status[0]
        #expect(status.sentLogs == logs)
        #expect(status.isolated == 0)
        #expect((status.failures[.server] ?? 0) > 0)
        #expect(store.status.ledger.delivered == Int64(logs))
        // Each packet's content was the same each time it was sent.
        let bodies = Set(server.requests.now.map(\.body))
        #expect(bodies.count == status.sentPackets)
    }
}
