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
    var ledger: Ledger { didSet { note() } }
    /// The ledger's row on disk is behind.
    var isLedgerStale = false

    /// What came and left since this was last looked at.
    var volumes = Volumes() { didSet { note() } }

    /// By logstore: those of which a stream is known.
    var outlets: [String: QueuedOutlet] = [:]
    /// Sealed and not acknowledged.
    var packetCount = 0 { didSet { note() } }
    /// What its bound counts, and what of that are rows that wait.
    var bytes = 0 { didSet { note() } }
    /// Its logs in rows, and its dead letters, counted where they come and go: what the ledger must say.
    var queuedLogs = 0
    var deadLetters = 0
    var deadBytes = 0 { didSet { note() } }
    var waitingBytes = 0 { didSet { note() } }
    /// What batches of the transaction at hand can need.
    var stagedBytes = 0 { didSet { note() } }
    /// While an overflow drops rows; and whether it did since this was last looked at.
    var oldestFirst: OldestFirst?
    var hasDropped = false
    /// Its logstores, and those changes of them that were not published yet.
    private(set) var logstores: LogstoreBook
    private var logstoreChanges: [LogstoreBook.Change] = []
    let publishedLogstores: PublishedLogstores
    /// It is among those that changed.
    private var isNoted = false

    init(name: String, rules: DestinationRules, ledger: Ledger, _ dirty: DirtyLists) {
        self.name = name
        self.rules = rules
        self.ledger = ledger
        self.dirty = dirty
        logstores = LogstoreBook(most: rules.logstoresMax)
        publishedLogstores = PublishedLogstores(logstores)
    }

    /// Something of it is not as it was published.
    func note() {
        guard !isNoted else { return }
        isNoted = true
        dirty.note(self)
    }

    func note(_ outlet: QueuedOutlet) { dirty.note(outlet) }

    /// It was published. False when it stays among those that changed, because its ledger is not on the disk.
    func settleChange() -> Bool {
        isNoted = isLedgerStale
        return !isNoted
    }

    func change(of change: LogstoreBook.Change) {
        logstores.apply(change)
        logstoreChanges.append(change)
        note()
    }

    func publishLogstores() {
        guard !logstoreChanges.isEmpty else { return }
        publishedLogstores.withLock { book in
            for change in logstoreChanges { book.apply(change) }
        }
        logstoreChanges.removeAll(keepingCapacity: true)
    }

    var limits: PacketLimits { rules.packet }

    func change(_ body: (inout Ledger) -> Void) {
        body(&ledger)
        isLedgerStale = true
    }
}
