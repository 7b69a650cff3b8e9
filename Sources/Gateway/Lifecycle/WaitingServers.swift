import Configuration
import HTTP
import Ingest
import JSON
import Net
import Queue
import System

/// The listeners while the queue cannot be opened yet. Devices keep their logs, and operators see
/// the reason.
struct WaitingServers {
    private let devices: HTTPServer
    private let secureDevices: HTTPServer?
    private let admin: HTTPServer
    /// Why the queue is not open. It names no hosts, because strangers see it; the journal has the
    /// details.
    private let reason: Locked<String>

    init(
        _ configuration: GatewayConfiguration,
        _ reason: String,
        _ journal: Journal
    ) throws(StartProblem) {
        let reason = Locked(reason)
        self.reason = reason
        let certificates = try Gateway.start { () throws(TLSError) in
            try GatewayServers.Certificates(configuration, journal)
        }
        let shared = DeviceHandler.Shared(
            queue: UnopenedQueue(),
            routes: RoutingTable(configuration),
            devices: configuration.devices,
            limits: configuration.limits,
            recognizesRepeats: false
        )
        (devices, secureDevices) = try Gateway.start { () throws(ListenError) in
            try GatewayServers.forDevices(configuration, shared, certificates.devices, journal)
        }
        admin = try Gateway.start { () throws(ListenError) in
            try GatewayServers.forOperators(configuration, certificates.admin, journal) {
                WaitingAdminHandler(reason, isSecure: configuration.admin.tls != nil)
            }
        }
    }

    var addresses: (devices: ListenAddress, admin: ListenAddress) {
        (devices.address, admin.address)
    }

    /// Replaces the reason that operators see.
    func tell(_ new: String) { reason.withLock { $0 = new } }

    func stop() {
        HTTPServer.stop(
            [devices, secureDevices, admin].compactMap(\.self),
            within: .milliseconds(500)
        )
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

    func append(
        _ batches: [Batch],
        identity: BatchIdentity?,
        sender: String?,
        tally: IntakeTally,
        on thread: (any CallbackThread)?,
        whenDurable: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        whenDurable(.refused(.failing))
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
