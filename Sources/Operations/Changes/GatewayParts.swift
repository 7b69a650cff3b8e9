package import Configuration
package import Credentials
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
