package import Configuration
package import Credentials
package import Crypto
package import Delivery
package import Ingest
import Queue
package import SQLiteQueue
package import System

/// Changes a gateway while it runs: what the file says anew, and what operators decide. It is no more than the parts
/// of the gateway that it needs; all that changes is in those.
package struct Steering: Sendable {
    /// Names every destination in a request that names one.
    package static let all = "*"

    package let configuration: Locked<GatewayConfiguration>
    package let decided: Locked<Decided>
    package let reading: ConfigurationReading
    package let helm: SerialWorker
    /// For proofs of credentials, which may wait long for SLS.
    package let vaultHelm: SerialWorker
    /// For long looks at what is there: whoever only looks must not be in the way of changes.
    package let views: SerialWorker
    /// Ends what proofs wait for at STS.
    package let proofEnd: Interruption

    package let store: DurableQueue
    package let forwarder: Forwarder
    package let devices: DeviceHandler.Shared
    package let reporter: Reporter
    package let tail: Tail
    package let keeper: CredentialKeeper
    package let webhook: Webhook
    /// Nil where pushed credentials stay in memory.
    package let box: SecretBox?
    /// Of the listeners that speak TLS.
    package let certificates: [CertificateWatch]
    package let adminKeys: Locked<AdminKeys>
    /// The main token as long as the operator gives no other.
    package let adminSecret: Secret
    package let journal: Journal
    package let audit: AuditTrail

    package init(
        configuration: Locked<GatewayConfiguration>,
        decided: Locked<Decided>,
        reading: @escaping ConfigurationReading,
        helm: SerialWorker,
        vaultHelm: SerialWorker,
        views: SerialWorker,
        proofEnd: Interruption,
        store: DurableQueue,
        forwarder: Forwarder,
        devices: DeviceHandler.Shared,
        reporter: Reporter,
        tail: Tail,
        keeper: CredentialKeeper,
        webhook: Webhook,
        box: SecretBox?,
        certificates: [CertificateWatch],
        adminKeys: Locked<AdminKeys>,
        adminSecret: Secret,
        journal: Journal,
        audit: AuditTrail
    ) {
        self.configuration = configuration
        self.decided = decided
        self.reading = reading
        self.helm = helm
        self.vaultHelm = vaultHelm
        self.views = views
        self.proofEnd = proofEnd
        self.store = store
        self.forwarder = forwarder
        self.devices = devices
        self.reporter = reporter
        self.tail = tail
        self.keeper = keeper
        self.webhook = webhook
        self.box = box
        self.certificates = certificates
        self.adminKeys = adminKeys
        self.adminSecret = adminSecret
        self.journal = journal
        self.audit = audit
    }
}
