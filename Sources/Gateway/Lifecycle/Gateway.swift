import Admin
package import Configuration
import Credentials
import Crypto
import Delivery
import HTTP
import Ingest
package import Net
package import Operations
import Queue
import SLS
import SQLiteQueue
package import System

/// The rooms wired together: queue, delivery, the admin listener and the devices' listener, started
/// in this order and stopped in the opposite one.
package final class Gateway: Sendable {
    package let configuration: Locked<GatewayConfiguration>
    package let deviceAddress: ListenAddress
    /// Nil where devices find no TLS.
    package let secureDeviceAddress: ListenAddress?
    package let adminAddress: ListenAddress
    /// The file that keeps the admin token; nil when the operator gave one.
    package let tokenFile: String?

    let journal: Journal
    let store: DurableQueue
    let forwarder: Forwarder
    let devices: DeviceHandler.Shared
    let deviceServer: HTTPServer
    let secureDeviceServer: HTTPServer?
    let adminServer: HTTPServer
    let reporter: Reporter
    let steering: Steering

    /// `reading` gives the configuration anew, whenever it is asked.
    package init(
        _ described: GatewayConfiguration,
        journal: Journal,
        reading: @escaping ConfigurationReading
    ) throws(StartProblem) {
        self.journal = journal
        var configuration = described
        let store = try Self.start { () throws(QueueError) in
            try DurableQueue(described.queueConfiguration, journal: journal)
        }
        self.store = store
        let stored = try Self.start { () throws(QueueError) in
            try store.recall(within: .seconds(10))
        }
        let decided = configuration.takeDecided(from: stored, reading, journal)
        if !decided.settings.isEmpty { store.apply(configuration.queueRules) }
        let running = Locked(configuration)
        self.configuration = running
        let kept = TokenFile(dataDirectory: configuration.dataDirectory, journal: journal)
        tokenFile = configuration.admin.token == nil ? kept.path : nil
        let secret = if let given = configuration.admin.token { given } else { try kept.token() }
        let (keeper, box) = try Self.keeper(configuration, stored, store, journal)
        var isRunning = false
        // Its threads would outlive a start that fails.
        defer { if !isRunning { keeper.stop() } }

        let forwarder = try Self.start { () throws(DeliveryError) in
            try Forwarder(
                configuration.destinations.map(\.deliverySettings),
                source: store,
                credentials: CredentialDoor(keeper),
                journal: journal,
                memoryMax: configuration.limits.deliveryBytes,
                userAgent: "sluice/\(Version.current)"
            )
        }
        self.forwarder = forwarder
        keeper.tell(forwarder, journal)
        let tail = try Self.start { () throws(SystemError) in try Tail() }
        var devices = DeviceHandler.Shared(
            queue: store,
            routes: RoutingTable(configuration),
            devices: configuration.devices,
            limits: configuration.limits,
            recognizesRepeats: configuration.queueConfiguration.repeatsMax > 0
        )
        devices.tail = tail
        devices.clockOffset = { [offsets = forwarder.clockOffsets] in offsets.offset(for: $0) }
        let shared = devices
        self.devices = shared
        let webhook = Webhook(journal)
        let reporter = Reporter(
            .init(
                configuration: running,
                store: store,
                forwarder: forwarder,
                counters: shared.counters,
                intake: shared.intake,
                door: shared.door,
                keeper: keeper,
                webhook: webhook,
                adminLabels: AdminRoute.labels
            )
        )
        self.reporter = reporter
        let adminTLS = try Self.start { () throws(TLSError) in
            try Self.certificates(configuration.admin.tls, of: "admin", journal)
        }
        let deviceTLS = try Self.start { () throws(TLSError) in
            try Self.certificates(configuration.tls?.settings, of: DeviceTLS.listener, journal)
        }
        let steering = try Self.start { () throws(SystemError) in
            Steering(
                configuration: running,
                decided: Locked(decided),
                reading: reading,
                helm: try SerialWorker("changes"),
                vaultHelm: try SerialWorker("rotations"),
                views: try SerialWorker("views", waitingMax: 8),
                proofEnd: try Interruption(),
                store: store,
                forwarder: forwarder,
                devices: shared,
                reporter: reporter,
                tail: tail,
                keeper: keeper,
                webhook: webhook,
                box: box,
                certificates: [adminTLS, deviceTLS].compactMap(\.self),
                adminKeys: Locked(AdminKeys(main: secret, named: configuration.admin.tokens)),
                adminSecret: secret,
                journal: journal,
                audit: AuditTrail(
                    decisions: store,
                    journal: journal,
                    counters: reporter.operators
                )
            )
        }
        forwarder.hold(decided.held)
        self.steering = steering
        try Self.start { () throws(SystemError) in try forwarder.start() }
        adminServer = try Self.start { () throws(ListenError) in
            var settings = HTTPServer.Configuration(
                listen: configuration.admin.listen,
                name: "admin",
                loops: 1,
                tls: adminTLS?.context,
                journal: journal
            )
            settings.limits.connections = 256
            // Strangers must not keep the pulse and the operators out.
            settings.limits.connectionsPerAddress = 64
            settings.limits.idleTime = .seconds(10)
            // A page of metrics or dead letters is for those alone who have a token.
            settings.limits.answerBytes = 64 << 20
            settings.limits.unsentAnswerBytes = 128 << 20
            return try HTTPServer(settings) {
                AdminHandler(.init(steering: steering))
            }
        }
        (deviceServer, secureDeviceServer) = try Self.start { () throws(ListenError) in
            try Self.deviceServers(configuration, shared, deviceTLS, journal)
        }
        try Self.start { () throws(SystemError) in
            let watch = Locked(CredentialWatch())
            try steering.helm.start(every: Steering.watchPause) {
                for certificate in steering.certificates { certificate.look() }
                steering.lookAfterCredentials(watch)
            }
            try steering.vaultHelm.start()
            try steering.views.start()
            try tail.start()
            try webhook.use(configuration.webhook)
            try shared.door.keySources.start(journal)
        }
        isRunning = true
        deviceAddress = deviceServer.address
        secureDeviceAddress = secureDeviceServer?.address
        adminAddress = adminServer.address
        reporter.add(deviceServer, as: "devices")
        if let secureDeviceServer {
            reporter.add(secureDeviceServer, as: DeviceTLS.listener, deviceTLS)
        }
        reporter.add(adminServer, as: "admin", adminTLS)
        for warning in configuration.startWarnings { journal.warning("\(warning)") }
        warnOfStrangers()
    }

    package var report: GatewayReport { reporter.report }

    /// Reads the configuration again, on the thread that makes changes.
    package func reread() {
        let steering = steering
        if !steering.helm.post({ steering.reread() }) {
            journal.warning("the configuration is not read again, because too many changes wait")
        }
    }

    /// See `Steering.reload`; for one thread only.
    func reload(_ new: GatewayConfiguration) {
        steering.reload(new)
    }

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

    private static func keeper(
        _ configuration: GatewayConfiguration,
        _ stored: [String: [UInt8]],
        _ store: DurableQueue,
        _ journal: Journal
    ) throws(StartProblem) -> (CredentialKeeper, SecretBox?) {
        let box = try start { () throws(SecretBoxProblem) in
            try configuration.encryptionKey.map { key throws(SecretBoxProblem) in
                SecretBox(key: try SealingKey(key))
            }
        }
        let keeper = try start { () throws(SystemError) in
            try CredentialKeeper(Surroundings(environment: configuration.environment.variables))
        }
        try start { () throws(KeeperProblem) in try keeper.replace(configuration.credentials) }
        let useless = keeper.takeStored(from: stored, box, journal)
        if !useless.isEmpty {
            let names = useless.compactMap(StoredCredential.name(ofSetting:)).sorted()
            // Where it cannot be written now the next start tries again.
            _ = store.store(Decision(resets: useless, .expired(names)))
        }
        return (keeper, box)
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
