import Admin
package import Configuration
import Credentials
import Crypto
import Delivery
import HTTP
import HTTPClient
import Ingest
package import Net
package import Operations
package import Queue
import Resolvers
import SLS
import SQLiteQueue
package import System

/// Wires the rooms together. Queue, delivery, admin listener and device listeners start in this order, and stop in the
/// opposite one.
package final class Gateway: Sendable {
    package let configuration: Locked<GatewayConfiguration>
    /// The file that keeps the generated admin token; nil when the operator configured one.
    package let tokenFile: String?

    let journal: Journal
    let store: any GatewayQueue
    let names: NameService
    let forwarder: Forwarder
    let keeper: CredentialKeeper
    let devices: DeviceHandler.Shared
    let tail: Tail
    let webhook: Webhook
    let reporter: Reporter
    let history: History
    /// What operators decided at run time.
    let decided: Locked<StoredDecisions>
    let certificates: CertificateReload
    let workers: OperatorWorkers
    let configurationReload: ConfigurationReload
    let servers: GatewayServers

    /// `reading` reads the configuration again.
    package init(
        _ described: GatewayConfiguration,
        on store: any GatewayQueue,
        journal: Journal,
        reading: @escaping ConfigurationReading
    ) throws(StartProblem) {
        self.journal = journal
        self.store = store
        var configuration = described
        let stored = try Self.start { () throws(QueueError) in
            try store.recall(within: .seconds(10))
        }
        let decisions = configuration.takeDecided(from: stored, reading, journal)
        if !decisions.settings.isEmpty { store.apply(configuration.queueRules) }
        let decided = Locked(decisions)
        self.decided = decided
        let running = Locked(configuration)
        self.configuration = running
        let kept = TokenFile(dataDirectory: configuration.dataDirectory, journal: journal)
        tokenFile = configuration.admin.token == nil ? kept.path : nil
        let secret = if let given = configuration.admin.token { given } else { try kept.token() }
        // Delivery learns from SLS how wrong the host's clock is, and resolvers check the time of queries.
        let clock = NameClock()
        let names = try Self.start { () throws(CurlUnavailable) in
            try NameService(
                configuration.names,
                directory: configuration.dataDirectory,
                journal: journal,
                network: Self.networkWatch(journal),
                now: { clock.now }
            )
        }
        self.names = names
        // Sources of credentials ask it from their start.
        try Self.start { () throws(SystemError) in try names.start() }
        let (keeper, box) = try Self.keeper(configuration, stored, store, names, journal)
        self.keeper = keeper
        var isRunning = false
        // The keeper's threads would outlive a failed start.
        defer { if !isRunning { keeper.stop() } }

        let forwarder = try Self.start { () throws(DeliveryError) in
            try Forwarder(
                configuration.destinations.map(\.deliverySettings),
                source: store,
                credentials: CredentialDoor(keeper),
                journal: journal,
                memoryMax: configuration.limits.deliveryBytes,
                userAgent: "sluice/\(Version.current)",
                names: names
            )
        }
        self.forwarder = forwarder
        clock.follow(forwarder.clockOffsets)
        keeper.tell(forwarder, journal)
        let tail = try Self.start { () throws(SystemError) in try Tail() }
        self.tail = tail
        let devices = Self.devices(configuration, store, forwarder, tail)
        self.devices = devices
        forwarder.tellAttempts(to: devices.captures)
        store.tellEnds(to: devices.captures)
        let webhook = Webhook(journal, addresses: names.lookup)
        self.webhook = webhook
        let reporter = Reporter(
            running: running,
            store: store,
            forwarder: forwarder,
            devices: devices,
            keeper: keeper,
            webhook: webhook,
            names: names,
            adminLabels: AdminRoute.labels
        )
        self.reporter = reporter
        let history = try Self.start { () throws(SystemError) in
            try History { [reporter] in reporter.report }
        }
        self.history = history
        let watches = try Self.start { () throws(TLSError) in
            try GatewayServers.Certificates(configuration, journal)
        }
        let certificates = CertificateReload(watches.all)
        self.certificates = certificates
        let workers = try Self.start { () throws(SystemError) in try OperatorWorkers() }
        self.workers = workers
        let access = AdminTokens(main: secret, configuration.admin)
        let reload = ConfigurationReload(
            running,
            decided,
            reading,
            .init(
                store: store,
                forwarder: forwarder,
                devices: devices,
                keeper: keeper,
                webhook: webhook,
                names: names,
                tail: tail,
                access: access,
                certificates: certificates,
                journal: journal
            )
        )
        configurationReload = reload
        let audit = AuditTrail(decisions: store, journal: journal, counters: reporter.operators)
        let inquiry = CredentialInquiry(
            running,
            keeper,
            forwarder,
            store,
            names.lookup,
            workers.proofs
        )
        let operators = AdminHandler.Shared(
            reporter: reporter,
            access: access,
            workers: workers,
            store: store,
            tail: tail,
            destinations: DestinationChanges(running, decided, store, forwarder, reload, audit),
            credentials: CredentialRotation(keeper, store, box, inquiry, audit),
            draining: Draining(running, store, devices.intake, audit),
            names: names,
            history: history,
            reload: reload,
            devices: devices,
            audit: audit,
            journal: journal
        )
        forwarder.hold(decisions.held)
        try Self.start { () throws(SystemError) in try forwarder.start() }
        servers = try Self.start { () throws(ListenError) in
            try GatewayServers(configuration, operators, devices, watches, journal)
        }
        let shared = SharedDecisions(
            store,
            stored,
            decided,
            reading,
            reload,
            forwarder,
            keeper,
            box,
            journal
        )
        try Self.start { () throws(SystemError) in
            try workers.start(
                certificates,
                CredentialAlerts(running, keeper, webhook, journal),
                reload,
                shared
            )
            try tail.start()
            try devices.captures.start()
            try history.start()
            try webhook.use(configuration.webhook)
            try devices.door.keySources.start(journal)
        }
        isRunning = true
        servers.add(to: reporter, watches)
        store.followDecisions { [changes = workers.changes] in
            shared.changed()
            // If too many jobs wait, it is done after one of them.
            _ = changes.post { shared.applyIfDue() }
        }
        for warning in configuration.startWarnings { journal.warning("\(warning)") }
        warnOfStrangers()
    }

    package var report: GatewayReport { reporter.report }

    package var deviceAddress: ListenAddress { servers.devices.address }
    /// nil: devices have no TLS listener.
    package var secureDeviceAddress: ListenAddress? { servers.secureDevices?.address }
    package var adminAddress: ListenAddress { servers.admin.address }

    /// Reads the configuration again, on the thread of changes.
    package func reread() {
        if !workers.changes.post({ [configurationReload] in configurationReload.reread() }) {
            journal.warning("SIGHUP ignored: too many changes are waiting")
        }
    }

    /// Applies a configuration on the calling thread. For tests.
    func reload(_ new: GatewayConfiguration) {
        configurationReload.apply(new)
    }

    /// Warns of logs for a destination that is not configured any more; they would wait unseen.
    private func warnOfStrangers() {
        for (name, ledger) in report.strangers where ledger.queued > 0 {
            journal.warning(
                "logs wait for a destination that is not in the configuration; add it again to "
                    + "deliver them",
                ["destination": name, "queued": ledger.queued]
            )
        }
    }

    private static func devices(
        _ configuration: GatewayConfiguration,
        _ store: any GatewayQueue,
        _ forwarder: Forwarder,
        _ tail: Tail
    ) -> DeviceHandler.Shared {
        var devices = DeviceHandler.Shared(
            queue: store,
            routes: RoutingTable(configuration),
            devices: configuration.devices,
            limits: configuration.limits,
            recognizesRepeats: configuration.queueConfiguration.repeatsMax > 0
        )
        devices.tail = tail
        devices.clockOffset = { [offsets = forwarder.clockOffsets] in offsets.offset(for: $0) }
        return devices
    }

    private static func networkWatch(_ journal: Journal) -> NetworkWatch? {
        do throws(SystemError) {
            return try NetworkWatch()
        } catch {
            journal.warning(
                "changes of the network are not noticed; allow sockets of AF_NETLINK",
                ["reason": error.description]
            )
            return nil
        }
    }

    private static func keeper(
        _ configuration: GatewayConfiguration,
        _ stored: [String: [UInt8]],
        _ store: any GatewayQueue,
        _ names: NameService,
        _ journal: Journal
    ) throws(StartProblem) -> (CredentialKeeper, SecretBox?) {
        let box = try start { () throws(SecretBoxProblem) in
            try configuration.encryptionKey.map { key throws(SecretBoxProblem) in
                SecretBox(key: try SealingKey(key))
            }
        }
        var surroundings = Surroundings(environment: configuration.environment.variables)
        surroundings.addresses = names.lookup
        let keeper = try start { [surroundings] () throws(SystemError) in
            try CredentialKeeper(surroundings)
        }
        try start { () throws(KeeperProblem) in try keeper.replace(configuration.credentials) }
        // Other gateways use what this one takes for expired, perhaps because of its clock.
        let useless = keeper.takeStored(
            from: stored,
            box,
            keepsExpired: store.areDecisionsShared,
            journal
        )
        if !useless.isEmpty {
            let names = useless.compactMap(StoredCredential.name(ofSetting:)).sorted()
            // If it cannot be stored now, the next start tries again.
            _ = store.store(Decision(resets: useless, .expired(names)))
        }
        return (keeper, box)
    }

    static func start<Part, Failure: Error & CustomStringConvertible>(
        _ part: () throws(Failure) -> Part
    ) throws(StartProblem) -> Part {
        do throws(Failure) {
            return try part()
        } catch {
            throw StartProblem(error.description)
        }
    }
}

extension GatewayConfiguration {
    var queueConfiguration: QueueConfiguration {
        var settings = QueueConfiguration(
            directory: dataDirectory,
            bytesMax: queue.bytesMax,
            ageMax: queue.ageMax,
            durability: queue.durability,
            freeBytesMin: queue.freeBytesMin,
            destinations: queueRules
        )
        settings.deadLetterAgeMax = queue.deadLetterAgeMax
        settings.streamsMax = queue.streamsMax
        settings.senders = devices.senders.count
        settings.repeatsAgeMax = devices.duplicates.window
        settings.repeatsMax = devices.duplicates.window > .zero ? devices.duplicates.max : 0
        return settings
    }
}
