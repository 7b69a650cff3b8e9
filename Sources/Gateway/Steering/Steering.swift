import Configuration
import Credentials
import Crypto
import Delivery
import Ingest
import Queue
import SQLiteQueue
import System

/// Changes a gateway while it runs: what the file says anew, and what operators decide. It is no more than the parts
/// of the gateway that it needs; all that changes is in those.
struct Steering: Sendable {
    let configuration: Locked<GatewayConfiguration>
    let decided: Locked<Decided>
    let reading: ConfigurationReading
    let helm: SerialWorker
    /// For proofs of credentials, which may wait long for SLS.
    let vaultHelm: SerialWorker
    /// For long looks at what is there: whoever only looks must not be in the way of changes.
    let views: SerialWorker
    /// Ends what proofs wait for at STS.
    let proofEnd: Interruption

    let store: DurableQueue
    let forwarder: Forwarder
    let devices: DeviceHandler.Shared
    let reporter: Reporter
    let tail: Tail
    let keeper: CredentialKeeper
    let webhook: Webhook
    /// Nil where pushed credentials stay in memory.
    let box: SecretBox?
    /// Of the listeners that speak TLS.
    let certificates: [CertificateWatch]
    let adminKeys: Locked<AdminKeys>
    /// The main token as long as the operator gives no other.
    let adminSecret: Secret
    let journal: Journal
    let audit: AuditTrail
}
