/// A destination's part of the queue: its ledger, its rules and its outlets.
final class QueuedDestination {
    let name: String
    var rules: DestinationRules { didSet { knownPlaces = nil } }
    var ledger: Ledger
    /// The ledger's row on disk is behind.
    var isLedgerStale = false

    /// What came and left since this was last looked at.
    var volumes = Volumes()

    /// By logstore: those of which a stream is known.
    var outlets: [String: QueuedOutlet] = [:]
    /// Sealed and not acknowledged.
    var packetCount = 0
    /// What its bound counts, and what of that are rows that wait.
    var bytes = 0
    /// Its logs in rows, and its dead letters, counted where they come and go: what the ledger must say.
    var queuedLogs = 0
    var deadLetters = 0
    var deadBytes = 0
    var waitingBytes = 0
    /// What batches of the transaction at hand can need.
    var stagedBytes = 0
    /// While an overflow drops rows; and whether it did since this was last looked at.
    var oldestFirst: OldestFirst?
    var hasDropped = false
    /// Logstores that have logs in the queue.
    var busyLogstores: Set<String> = [] { didSet { knownPlaces = nil } }
    /// Logstores that have taken a packet once, so they exist.
    var provenLogstores: Set<String> = [] { didSet { knownPlaces = nil } }
    /// See `places`, which each commit asks for.
    var knownPlaces: LogstorePlaces?

    init(name: String, rules: DestinationRules, ledger: Ledger) {
        self.name = name
        self.rules = rules
        self.ledger = ledger
    }

    var limits: PacketLimits { rules.packet }

    func change(_ body: (inout Ledger) -> Void) {
        body(&ledger)
        isLedgerStale = true
    }
}
