import Queue
import System

/// A destination's part of the queue: its ledger, its rules and its outlets.
final class QueuedDestination {
    let name: String
    private let dirty: DirtyLists
    var rules: DestinationRules {
        didSet {
            change(of: .most(rules.logstoresMax))
            note()
        }
    }
    private(set) var ledger: Ledger { didSet { note() } }
    /// True if the ledger's row on disk is out of date.
    private(set) var isLedgerStale = false

    /// The bytes that came and left since the last look.
    var volumes = Volumes() { didSet { note() } }

    /// The outlets with known streams, by logstore.
    var outlets: [String: QueuedOutlet] = [:]
    /// Packets that are sealed and not acknowledged.
    var packetCount = 0 { didSet { note() } }
    /// The bytes in its bound. `waitingBytes` is the part of waiting rows.
    var bytes = 0 { didSet { note() } }
    /// Its logs in rows and its dead letters, counted when they come and go. The ledger must agree.
    var queuedLogs = 0
    var deadLetters = 0
    var deadBytes = 0 { didSet { note() } }
    var waitingBytes = 0 { didSet { note() } }
    /// The most that batches of the current transaction can need.
    var stagedBytes = 0 { didSet { note() } }
    /// Set while an overflow drops rows.
    var oldestFirst: OldestFirst?
    private var sharedLogstores: SharedLogstores
    /// True if it is in the list of changed destinations.
    private var isNoted = false

    init(name: String, rules: DestinationRules, ledger: Ledger, _ dirty: DirtyLists) {
        self.name = name
        self.rules = rules
        self.ledger = ledger
        self.dirty = dirty
        sharedLogstores = SharedLogstores(most: rules.logstoresMax)
    }

    /// Notes a difference from the published state.
    func note() {
        guard !isNoted else { return }
        isNoted = true
        dirty.note(self)
    }

    func note(_ outlet: QueuedOutlet) { dirty.note(outlet) }

    /// Called after publishing. Returns false if the destination stays in the list because its
    /// ledger is not on the disk.
    func settleChange() -> Bool {
        isNoted = isLedgerStale
        return !isNoted
    }

    func change(of change: LogstoreBook.Change) {
        sharedLogstores.apply(change)
        note()
    }

    var logstores: LogstoreBook { sharedLogstores.book }
    var publishedLogstores: PublishedLogstores { sharedLogstores.published }

    func publishLogstores() { sharedLogstores.publish() }

    var limits: PacketLimits { rules.packet }

    // MARK: - The ledger

    func change(_ body: (inout Ledger) -> Void) {
        body(&ledger)
        isLedgerStale = true
    }

    /// Takes the ledger that was read at a start.
    func recover(_ stored: Ledger) { ledger = stored }

    /// Called when the current transaction has the ledger.
    func ledgerSaved() { isLedgerStale = false }
}
