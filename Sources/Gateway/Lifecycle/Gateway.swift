import Delivery
import HTTP
package import Net
import Queue
import SLS
package import System

/// The rooms wired together: queue, delivery, the admin listener and the devices' listener, started
/// in this order and stopped in the opposite one.
package final class Gateway: Sendable {
    package let configuration: Locked<GatewayConfiguration>
    package let deviceAddress: ListenAddress
    package let adminAddress: ListenAddress
    /// The file that keeps the admin token; nil when the operator gave one.
    package let tokenFile: String?

    let journal: Journal
    let store: LogStore
    let forwarder: Forwarder
    let devices: DeviceHandler.Shared
    let deviceServer: HTTPServer
    let adminServer: HTTPServer
    let adminKeys: Locked<AdminKeys>
    /// As long as the operator gives no other.
    let adminSecret: Secret
    let credentials: Locked<[String: Credential]>
    let reporter: Reporter

    package init(
        _ configuration: GatewayConfiguration,
        journal: Journal
    ) throws(StartProblem) {
        self.journal = journal
        let running = Locked(configuration)
        self.configuration = running
        let store = try Self.start { () throws(QueueError) in
            try LogStore(configuration.queueConfiguration, journal: journal)
        }
        self.store = store
        let kept = TokenFile(dataDirectory: configuration.dataDirectory, journal: journal)
        tokenFile = configuration.admin.token == nil ? kept.path : nil
        let secret = if let given = configuration.admin.token { given } else { try kept.token() }
        let keys = Locked(AdminKeys(main: secret, named: configuration.admin.tokens))
        adminSecret = secret
        adminKeys = keys
        let credentials = Locked(configuration.credentials)
        self.credentials = credentials

        let forwarder = try Self.start { () throws(DeliveryError) in
            try Forwarder(
                configuration.destinations.map(\.deliverySettings),
                source: store,
                credentials: { name in credentials.withLock { $0[name] } },
                journal: journal,
                userAgent: "sluice/\(Version.current)"
            )
        }
        self.forwarder = forwarder
        let devices = DeviceHandler.Shared(
            queue: store,
            routes: RoutingTable(configuration),
            limits: configuration.limits,
            recognizesRepeats: configuration.queueConfiguration.repeatsMax > 0
        )
        self.devices = devices
        let reporter = Reporter(
            .init(
                configuration: running,
                store: store,
                forwarder: forwarder,
                counters: devices.counters
            )
        )
        self.reporter = reporter
        try Self.start { () throws(SystemError) in try forwarder.start() }
        adminServer = try Self.start { () throws(ListenError) in
            var settings = HTTPServer.Configuration(
                listen: configuration.admin.listen,
                name: "admin",
                loops: 1,
                journal: journal
            )
            settings.limits.connections = 256
            // Strangers must not keep the pulse and the operators out.
            settings.limits.connectionsPerAddress = 64
            settings.limits.idleTime = .seconds(10)
            return try HTTPServer(settings) { _ in
                AdminHandler(.init(keys: keys, store: store, journal: journal) { reporter.report })
            }
        }
        deviceServer = try Self.start { () throws(ListenError) in
            try HTTPServer(
                .init(
                    listen: configuration.listen,
                    limits: configuration.limits.http,
                    journal: journal
                )
            ) { _ in
                DeviceHandler(devices)
            }
        }
        deviceAddress = deviceServer.address
        adminAddress = adminServer.address
        reporter.add(deviceServer, as: "devices")
        reporter.add(adminServer, as: "admin")
        warnOfStrangers()
    }

    package var report: GatewayReport { reporter.report }

    /// Logs for a destination that is no longer described would wait unseen.
    private func warnOfStrangers() {
        for (name, ledger) in report.strangers where ledger.queued > 0 {
            journal.warning(
                "logs wait for a destination that is not in the configuration; describe it again to "
                    + "deliver them",
                ["destination": name, "queued": ledger.queued]
            )
        }
    }

    private static func start<Part, Failure: Error & CustomStringConvertible>(
        _ part: () throws(Failure) -> Part
    ) throws(StartProblem) -> Part {
        do throws(Failure) {
            return try part()
        } catch {
            throw StartProblem(error.description)
        }
    }
}
