package import Configuration
package import Credentials
package import Crypto
package import Delivery
package import Ingest
package import Queue
package import Resolvers
package import System

/// The parts of a running gateway that operators and a new configuration change.
package struct GatewayParts: Sendable {
    /// What the gateway runs with.
    package let configuration: Locked<GatewayConfiguration>
    /// What operators decided at run time.
    package let decided: Locked<StoredDecisions>
    /// Reads the configuration file and the environment again.
    package let reading: ConfigurationReading
    package let store: any GatewayQueue
    package let names: NameService
    package let keeper: CredentialKeeper
    /// nil: pushed credentials stay in memory.
    package let box: SecretBox?
    package let forwarder: Forwarder
    package let tail: Tail
    package let devices: DeviceHandler.Shared
    package let webhook: Webhook
    package let access: AdminTokens
    package let certificates: CertificateReload
    package let workers: OperatorWorkers
    package let journal: Journal

    package init(
        configuration: Locked<GatewayConfiguration>,
        decided: Locked<StoredDecisions>,
        reading: @escaping ConfigurationReading,
        store: any GatewayQueue,
        names: NameService,
        keeper: CredentialKeeper,
        box: SecretBox?,
        forwarder: Forwarder,
        tail: Tail,
        devices: DeviceHandler.Shared,
        webhook: Webhook,
        access: AdminTokens,
        certificates: CertificateReload,
        workers: OperatorWorkers,
        journal: Journal
    ) {
        self.configuration = configuration
        self.decided = decided
        self.reading = reading
        self.store = store
        self.names = names
        self.keeper = keeper
        self.box = box
        self.forwarder = forwarder
        self.tail = tail
        self.devices = devices
        self.webhook = webhook
        self.access = access
        self.certificates = certificates
        self.workers = workers
        self.journal = journal
    }
}

/// The threads that work for operators. A slow job of one kind delays no other kind.
package struct OperatorWorkers: Sendable {
    /// Makes changes at run time, one after the other.
    package let changes: SerialWorker
    /// Proves credentials, which may wait long for SLS and STS.
    package let proofs: SerialWorker
    /// Reads long lists from the queue, and waits for those of other gateways.
    package let views: SerialWorker
    /// Lets other gateways change their dead letters, and waits for that, up to half a minute.
    package let changesElsewhere: SerialWorker
    /// Answers other gateways and waits for none, so that two that ask each other get answers.
    package let answers: SerialWorker

    /// How often certificates, credentials, removed destinations and shared decisions are checked.
    private static let watchPause: Duration = .seconds(10)

    package static let waitingViewsMax = 8

    package init() throws(SystemError) {
        changes = try SerialWorker("changes")
        proofs = try SerialWorker("rotations")
        views = try SerialWorker("views", waitingMax: Self.waitingViewsMax)
        changesElsewhere = try SerialWorker("relays", waitingMax: 8)
        answers = try SerialWorker("answers", waitingMax: 16)
    }

    /// `watch` looks every few seconds at what changes without an operator.
    package func start(watch: @escaping @Sendable () -> Void) throws(SystemError) {
        try changes.start(every: Self.watchPause, watch)
        try proofs.start()
        try views.start()
        try changesElsewhere.start()
        try answers.start()
    }

    package func stop() {
        changes.stop()
        proofs.stop()
        views.stop()
        changesElsewhere.stop()
        answers.stop()
    }
}

/// The admin tokens in use. A reload replaces them.
package struct AdminTokens: Sendable {
    private let keys: Locked<AdminKeys>
    /// The main token of the start, used after a reload that configures none.
    private let mainAtStart: Secret

    /// `main` is the configured main token, or the generated one.
    package init(main: Secret, _ settings: AdminSettings) {
        mainAtStart = main
        keys = Locked(AdminKeys(main: main, named: settings.tokens))
    }

    /// Whose token an `Authorization` field shows; nil when the token is unknown.
    package func holder(of authorization: ArraySlice<UInt8>) -> AdminHolder? {
        keys.withLock { $0 }.holder(of: authorization)
    }

    /// Whether the holder's token still exists, with the same role.
    package func knows(_ holder: AdminHolder) -> Bool { keys.withLock { $0 }.know(holder) }

    /// Takes over a reload's tokens, and returns which holders remain.
    func use(_ settings: AdminSettings) -> (AdminHolder) -> Bool {
        let new = AdminKeys(main: settings.token ?? mainAtStart, named: settings.tokens)
        keys.withLock { $0 = new }
        return new.know
    }
}
