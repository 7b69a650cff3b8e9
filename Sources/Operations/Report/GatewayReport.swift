package import Credentials
package import Delivery
package import HTTP
package import Ingest
package import Queue
package import System

/// The state of the whole gateway at one moment: what metrics, the admin API and readiness are made
/// from.
package struct GatewayReport: Sendable {
    package struct Listener: Sendable {
        package let name: String
        package let address: String
        package let counters: HTTPServer.Counters
        /// Nil where it speaks no TLS.
        package let certificates: CertificateWatch.Status?
    }

    package struct Destination: Sendable {
        package let name: String
        /// The one in use.
        package let endpoint: String
        package let project: String
        /// "*" for every logstore.
        package let logstore: String
        package let queue: QueueStatus.Destination
        package let delivery: DestinationStatus
        /// A reload found it no more; it goes on until the restart.
        package var isRemoved = false
    }

    package let now: WallTime
    package let uptime: Duration
    package let isStopping: Bool
    package let isDraining: Bool
    /// Requests that are being stored. Looked at before the queue, so that what they bring is not missed between.
    package let arriving: Int
    package let listeners: [Listener]
    package let queue: QueueStatus
    package let destinations: [Destination]
    /// Destinations of earlier configurations that still have something in the ledger.
    package let strangers: [String: Ledger]
    package let credentials: [CredentialStatus]
    package let webhook: WebhookStatus
    package let accepted: [(route: String, counts: IngestCounters.Accepted)]
    package let clocks: IngestCounters.Clocks
    package let damage: IngestCounters.Damage
    /// Fields and tags of devices that had the name of a stamp.
    package let claimsRemoved: Int
    package let refused: [(kind: IngestCounters.RefusalKind, count: Int)]
    /// By the name of a device's key.
    package let keys: [(name: String, counts: KeyCounter.Counts)]
    /// Requests that nobody known sent, by why.
    package let unknownSenders: [(reason: String, count: Int)]
    /// Of signed requests, remembered now.
    package let nonces: Int
    package let tokens: Int
    /// Of issuers that publish them.
    package let tokenKeys: [TokenKeySources.Status]
    package let addresses: AddressBook.Counts
    package let addressesMax: Int
    /// By listener.
    package let answers: [(listener: String, counts: [AnswerCounters.Count])]
    /// Of operators.
    package let changes: [(action: String, count: Int)]
}
