package import Configuration
package import Credentials
package import Delivery
package import HTTP
package import Ingest
package import Queue
package import Resolvers
package import Routing
package import System

/// The gateway's state at one moment, for metrics, the admin API and readiness.
package struct GatewayReport: Sendable {
    package struct Listener: Sendable {
        package let name: String
        package let address: String
        package let counters: Counts<HTTPCounter>
        /// nil: the listener has no TLS.
        package let certificates: CertificateWatch.Status?
    }

    package struct Destination: Sendable {
        package let settings: Configuration.Destination
        package let queue: QueueStatus.Destination
        package let delivery: DestinationStatus

        package var name: String { settings.name }
        /// True: a reload removed it. It takes no logs, and delivers its last ones.
        package var isRemoved: Bool { settings.isRemoved }
    }

    package struct Intake: Sendable {
        package let isStopping: Bool
        package let isDraining: Bool
        /// Requests being stored; read before the queue's status, to count their logs once.
        package let arriving: Int
    }

    package struct Requests: Sendable {
        /// By listener.
        package let answers: [(listener: String, counts: [AnswerCounters.Count])]
        package let accepted: [IngestCounters.Accepted]
        package let refused: [(kind: IngestCounters.RefusalKind, count: Int)]
        package let content: Counts<ContentCounter>
        package let filters: [(filter: String, counts: Counts<FilterCounter>)]
    }

    package struct Senders: Sendable {
        package let keys: [KeyCounts]
        /// Requests of unknown senders, by reason.
        package let unknown: [(reason: String, count: Int)]
        /// Used nonces in memory.
        package let nonces: Int
        package let tokens: Int
        /// The issuers whose keys are fetched.
        package let tokenKeys: [TokenKeySources.Status]
        package let addresses: Counts<AddressBook.Count>
        package let addressesMax: Int
    }

    /// What is kept for operators who look.
    package struct Looks: Sendable {
        /// Captures that run, and requests that captures have kept since the start.
        package let captures: Int
        package let captured: Int
        /// The memory of all captures.
        package let captureBytes: Int
        /// Refused requests that a flood left out of the list.
        package let refusalsMissed: Int
        /// Open sessions of the console.
        package let sessions: Int
    }

    package let now: WallTime
    package let uptime: Duration
    package let intake: Intake
    package let listeners: [Listener]
    package let requests: Requests
    package let senders: Senders
    package let queue: QueueStatus
    package let destinations: [Destination]
    /// Destinations that are not configured any more, and still have logs or counts in the ledger.
    package let strangers: [String: Ledger]
    package let credentials: [CredentialStatus]
    package let names: NameReport
    package let webhook: WebhookStatus
    package let looks: Looks
    /// Changes by operators.
    package let changes: [(action: String, count: Int)]
}

extension GatewayReport {
    /// One logstore of a destination, as queue and delivery see it.
    package struct Outlet: Sendable {
        package let logstore: String
        package let queue: QueueStatus.Outlet
        /// nil: nothing was sent yet.
        package let delivery: OutletStatus?
    }
}

extension GatewayReport.Destination {
    /// The logstores with logs now or lately, by name.
    package var outlets: [GatewayReport.Outlet] {
        let delivered = Dictionary(
            delivery.outlets.map { ($0.logstore, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        return Set(queue.outlets.keys).union(delivered.keys).sorted().map {
            .init(
                logstore: $0,
                queue: queue.outlets[$0] ?? .init(),
                delivery: delivered[$0]
            )
        }
    }
}
