import HTTPClient
import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

/// What is said about old settings says nothing about the new ones.
@Suite(.timeLimit(.minutes(1))) struct LateResultsTests {
    let source: MemorySource
    let gate: SharedValue<Bool>

    init() throws {
        source = try MemorySource()
        gate = SharedValue(false)
    }

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

    static func quick(_ settings: inout DestinationSettings) {
        settings.retryWaits = Backoff(first: .milliseconds(1), longest: .milliseconds(10))
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
        settings.sls.project = "other-project"
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
        let shared = DeliveryThreadState()
        let dependencies = DestinationSender.Dependencies(
            source: source,
            credentials: CredentialDoor { _ in nil },
            journal: .silent,
            now: { .now }
        )
        let destination = DestinationSender(
            try SLSOutput(old, userAgent: "t"),
            shared,
            Locked(DestinationStatus(old)),
            dependencies
        )
        let key = EndpointKey.server(old.sls.endpoint, proxy: nil)
        let endpoint = shared.endpoints.endpoint(for: key, places: 8, waits: old.retryWaits)
        let outlet = Outlet(destination: "app", logstore: "app-log")
        destination.announced(outlet)
        let now = Moment.now
        let silence = Judge.judge(TransportProblem(.gotNothing, detail: ""))
        _ = endpoint.leave(endpoint.gate.enter(now, bytes: 1), silence, .failed, of: outlet, now)
        #expect(endpoint.hearsWitnesses)
        destination.reconfigure(try SLSOutput(new, userAgent: "t"), now)
        #expect(!endpoint.hearsWitnesses)
    }
}
