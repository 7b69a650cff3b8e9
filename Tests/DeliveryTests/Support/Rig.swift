import Configuration
import Queue
import SLS
import Sandbox
import System
import TestSupport

@testable import Delivery

/// A forwarder between a queue in memory and a scripted server.
struct Rig {
    let source: MemorySource
    let server: ScriptedServer
    let recorder: JournalRecorder
    let credential: Locked<Credential?>
    let forwarder: Forwarder

    init(
        _ source: MemorySource,
        _ server: ScriptedServer,
        credential: Credential? = Samples.credential,
        compression: Destination.BodyCompression = .lz4,
        adjusting: (inout Destination) -> Void = { _ in }
    ) throws {
        var settings = try Samples.destination(port: server.port, compression: compression)
        adjusting(&settings)
        let holder = Locked(credential)
        recorder = JournalRecorder()
        forwarder = try Forwarder.started(
            [settings],
            source: source,
            credentials: { _ in holder.withLock { $0 } },
            journal: recorder.journal,
            userAgent: "sluice/test"
        )
        self.source = source
        self.server = server
        self.credential = holder
    }

    /// With a queue of its own.
    init(
        _ server: ScriptedServer,
        credential: Credential? = Samples.credential,
        compression: Destination.BodyCompression = .lz4,
        adjusting: (inout Destination) -> Void = { _ in }
    ) throws {
        let source = MemorySource()
        try self.init(
            source,
            server,
            credential: credential,
            compression: compression,
            adjusting: adjusting
        )
    }

    var status: DestinationStatus { forwarder.status[0] }

    func stop() {
        forwarder.stop(server)
    }
}

extension Forwarder {
    /// A forwarder that runs, for credentials that need no reports of what SLS says of them.
    static func started(
        _ destinations: [Destination],
        source: any PacketSource,
        credentials: @escaping @Sendable (String) -> Credential? = { _ in Samples.credential },
        journal: Journal = .silent,
        memoryMax: Int = LimitSettings().deliveryBytes,
        userAgent: String = "sluice",
        now: @escaping @Sendable () -> WallTime = { .now }
    ) throws -> Forwarder {
        let forwarder = try Forwarder(
            destinations,
            source: source,
            credentials: CredentialDoor(credentials),
            journal: journal,
            memoryMax: memoryMax,
            userAgent: userAgent,
            now: now
        )
        try forwarder.start()
        return forwarder
    }

    /// Ends it, then what it delivers to.
    func stop(_ servers: any TestServer...) {
        stop(within: .seconds(5))
        for server in servers { server.stop() }
    }
}

protocol TestServer {
    func stop()
}

extension ScriptedServer: TestServer {}
extension TestSandbox: TestServer {}
extension SandboxServer: TestServer {}

extension DestinationStatus {
    var isPaused: Bool { if case .paused = state { true } else { false } }
    var isWaitingForCredential: Bool {
        if case .waitingForCredential = state { true } else { false }
    }
}
