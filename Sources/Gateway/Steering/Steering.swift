import Credentials
import Delivery
import Queue
import SLS
import System

/// Reads the configuration with what was decided of destinations: the file as it is now, or as it was when that was
/// asked for last.
package typealias ConfigurationReading =
    @Sendable (
        _ decided: [String: DecidedSettings], _ anew: Bool
    ) throws(ConfigurationProblems) -> GatewayConfiguration

/// Changes a gateway while it runs: what the file says anew, and what operators decide.
final class Steering: Sendable {
    let configuration: Locked<GatewayConfiguration>
    let decided: Locked<Decided>
    let reading: ConfigurationReading
    let helm: Helm
    /// For credentials, whose proofs may wait long for SLS.
    let vaultHelm: Helm
    /// Ends what proofs wait for at STS.
    let proofEnd: Interruption

    let store: LogStore
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

    struct Parts {
        let configuration: Locked<GatewayConfiguration>
        let decided: Decided
        let reading: ConfigurationReading
        let store: LogStore
        let forwarder: Forwarder
        let devices: DeviceHandler.Shared
        let reporter: Reporter
        let tail: Tail
        let keeper: CredentialKeeper
        let webhook: Webhook
        let box: SecretBox?
        let certificates: [CertificateWatch]
        let adminSecret: Secret
        let journal: Journal
    }

    init(_ parts: Parts) throws(SystemError) {
        configuration = parts.configuration
        decided = Locked(parts.decided)
        reading = parts.reading
        store = parts.store
        forwarder = parts.forwarder
        devices = parts.devices
        reporter = parts.reporter
        tail = parts.tail
        keeper = parts.keeper
        webhook = parts.webhook
        box = parts.box
        certificates = parts.certificates
        adminSecret = parts.adminSecret
        journal = parts.journal
        audit = AuditTrail(
            decisions: parts.store,
            journal: parts.journal,
            counters: parts.reporter.operators
        )
        let named = parts.configuration.withLock(\.admin.tokens)
        adminKeys = Locked(AdminKeys(main: parts.adminSecret, named: named))
        helm = try Helm("changes")
        vaultHelm = try Helm("rotations")
        proofEnd = try Interruption()
        forwarder.hold(parts.decided.held)
    }
}
