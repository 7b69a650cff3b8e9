import CommitLog
package import Configuration
import Crypto
import Fleet
import HTTP
import Ingest
import JSON
package import Net
package import Queue
import SQLiteQueue
package import System

/// Opens the queue. While its servers are away, the gateway refuses logs and says why.
package struct QueueOpening {
    private static let pauseMin = Duration.milliseconds(250)
    private static let pauseMax = Duration.seconds(5)
    private static let connectTime = Duration.seconds(2)

    private let configuration: GatewayConfiguration
    private let passed: PassedListeners
    private let journal: Journal

    package init(
        _ configuration: GatewayConfiguration,
        _ passed: PassedListeners,
        _ journal: Journal
    ) {
        self.configuration = configuration
        self.passed = passed
        self.journal = journal
    }

    /// `pause` waits, and returns false if the operator stops the gateway; the result is then nil.
    package func open(pause: (Duration) -> Bool) throws -> (any GatewayQueue)? {
        try checkOtherQueue()
        let cluster = try configuration.queue.cluster(journal, patience: Self.connectTime)
        guard let cluster, let node = configuration.queue.node else {
            return try DurableQueue(configuration.queueConfiguration, journal: journal)
        }
        let opening = try FleetOpening(try settings(node), cluster, journal)
        // To read a log takes time too.
        let servers = try WaitingServers(
            configuration,
            passed,
            journal,
            because: "the queue is read from its commit log"
        )
        defer { servers.stop() }
        return try open(opening, servers, pause)
    }

    private func settings(_ node: String) throws -> FleetSettings {
        var queue = configuration.queueConfiguration
        queue.commitRetries.timeout = configuration.queue.commitWait
        var settings = FleetSettings(
            node: node,
            directory: configuration.dataDirectory,
            queue: queue
        )
        let key = try configuration.encryptionKey.map { try SealingKey($0) }
        settings.keyFingerprint = key?.clusterFingerprint
        return settings
    }

    private func open(
        _ opening: FleetOpening,
        _ servers: WaitingServers,
        _ pause: (Duration) -> Bool
    ) throws -> (any GatewayQueue)? {
        var reported: String?
        var next = Self.pauseMin
        while true {
            do throws(CommitLogError) {
                let fleet = try opening.open()
                if reported != nil { journal.info("the queue is open") }
                return fleet
            } catch {
                // A shard is mostly taken away during a start by a late append of an earlier life.
                guard [.unreachable, .noRoom, .fenced].contains(error.kind) else {
                    throw StartProblem("queue.\(configuration.queue.engine.rawValue): \(error)")
                }
                servers.tell("the queue waits for its commit log")
                // Each reason is told once; only the journal has it.
                if reported != "\(error)" {
                    journal.warning(
                        "the queue waits for its commit log; devices are refused meanwhile",
                        [
                            "reason": error, "devices": servers.addresses.devices,
                            "admin": servers.addresses.admin,
                        ]
                    )
                }
                reported = "\(error)"
            }
            guard pause(next) else { return nil }
            next = min(next * 2, Self.pauseMax)
        }
    }

    /// The logs of a queue of another engine would wait unseen.
    private func checkOtherQueue() throws {
        let directory = configuration.dataDirectory
        let isLocal = configuration.queue.engine == .sqlite
        try MoveNote.checkStart(in: directory)
        let found =
            isLocal
            ? try StoredLogs.ofShards(in: directory)
            : try StoredLogs.ofQueue(in: directory, isScratch: false)
        guard let logs = found else { return }
        guard logs.queued == 0 else {
            throw StartProblem(
                "\(logs.path) has \(logs.queued) undelivered logs of another queue.engine; start with that "
                    + "engine until they are delivered, or move the file and its -wal away"
                    + (isLocal
                        ? "; if the shard was moved out with sluice restore --take, this copy can be removed"
                        : "")
            )
        }
        if logs.dead > 0 {
            journal.warning(
                "dead letters stay in the queue of another engine",
                ["file": logs.path, "dead": logs.dead]
            )
        }
    }
}

/// The listeners while the queue is not open: devices keep their logs, operators see why.
struct WaitingServers {
    private let servers: GatewayServers
    /// Why the queue is not open, without hosts, as strangers see it; the journal has the details.
    private let reason: Locked<String>

    init(
        _ configuration: GatewayConfiguration,
        _ passed: PassedListeners,
        _ journal: Journal,
        because reason: String
    ) throws {
        let reason = Locked(reason)
        self.reason = reason
        let shared = DeviceHandler.Shared(
            queue: UnopenedQueue(),
            routes: RoutingTable(configuration),
            devices: configuration.devices,
            limits: configuration.limits,
            recognizesRepeats: false
        )
        let listeners = try ListenerSettings(configuration, passed, journal)
        servers = try GatewayServers(listeners, shared) {
            WaitingAdminHandler(reason, isSecure: configuration.admin.tls != nil)
        }
    }

    var addresses: (devices: ListenAddress, admin: ListenAddress) {
        (servers.devices.address, servers.admin.address)
    }

    /// Replaces the reason that operators see.
    func tell(_ new: String) { reason.withLock { $0 = new } }

    func stop() {
        HTTPServer.stop(servers.ofDevices + [servers.admin], within: .milliseconds(500))
    }
}

/// A queue that takes nothing yet.
private struct UnopenedQueue: BatchQueue {
    var admission: QueueAdmission { .failing }
    func admission(for outlet: Outlet) -> QueueAdmission { .failing }
    func admission(forDestination name: String) -> QueueAdmission { .failing }
    func crowdedOut(_ outlets: [Outlet]) -> Set<Outlet> { [] }
    func keepsUnreadable(for destination: String) -> Bool { false }
    func count(_ tally: IntakeTally) {}

    func append(_ batches: [Batch], of request: any AppendingRequest) {
        request.decided(.refused(.failing))
    }
}

/// Health checks, as `AdminHandler` answers them, and a refusal of everything else.
private final class WaitingAdminHandler: RequestHandler {
    private let reason: Locked<String>
    private let isSecure: Bool

    init(_ reason: Locked<String>, isSecure: Bool) {
        self.reason = reason
        self.isSecure = isSecure
    }

    func admit(_ head: RequestHead) -> Admission { .accept(bodyBytesMax: 64 << 10, isSecret: true) }

    func handle(
        _ head: RequestHead,
        _ admitted: Admitted?,
        body: UnsafeRawBufferPointer,
        responder: Responder
    ) {
        responder.send(answer(to: head.pathText))
    }

    private func answer(to path: String) -> Response {
        guard path != "/healthz" else {
            return Response(status: 200, contentType: "text/plain", text: "ok\n")
        }
        let reason = reason.withLock { $0 }
        var json = JSONWriter()
        json.object { json in
            json.member("ready", false)
            json.array("reasons") { json in
                json.element(reason)
            }
        }
        return Response(
            status: 503,
            contentType: "application/json",
            fields: [("retry-after", "5")],
            body: json.bytes
        )
    }

    func answer(
        to problem: RequestProblem,
        head: RequestHead?,
        _ admitted: Admitted?
    ) -> Response {
        Response(status: problem.status, closes: true)
    }

    func stamp(_ fields: inout [UInt8], of response: Response) {
        fields += Array("x-content-type-options: nosniff\r\n".utf8)
        if isSecure { fields += Array("strict-transport-security: max-age=31536000\r\n".utf8) }
    }
}
