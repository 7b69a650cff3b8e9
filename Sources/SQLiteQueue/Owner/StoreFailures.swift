import Queue
import SQLite
import System

/// The reason why the store is closed, and the time and manner of the next attempt to open it.
struct StoreFailures {
    private let tuning: QueueTuning
    /// The pause after the next failure. It grows until a write succeeds.
    private var nextPause: Duration
    private var nextAttempt = Moment(nanoseconds: 0)
    private(set) var problem: QueueError?
    /// The damage of the database. The next attempt to open it begins with a salvage.
    var damage: SQLiteError?
    private var wasUnreadable = false
    /// True if SQLite found no space although the disk has some. A damaged page that names a page
    /// far behind the file's end looks the same, so the next opening checks all pages first.
    private(set) var isSpaceDoubtful = false
    /// The earliest time of the next such check, which reads the whole file.
    private var nextCheck = Moment(nanoseconds: 0)
    /// The earliest time to read a store that disagrees with memory again, instead of rebuilding
    /// it.
    private var nextReading = Moment(nanoseconds: 0)
    private(set) var count = 0

    init(_ tuning: QueueTuning) {
        self.tuning = tuning
        nextPause = tuning.retryMin
    }

    var pause: Duration { nextAttempt - .now }
    var mayTryAgain: Bool { nextAttempt <= .now }

    private mutating func postpone() {
        nextAttempt = .now + nextPause
        nextPause = min(tuning.retryMax, nextPause * 2)
    }

    /// Finds out if the error means that the database is damaged.
    mutating func examine(_ error: SQLiteError, hasSpace: Bool, _ journal: Journal) {
        guard !error.isOfCommitLog else { return }
        if error.kind == .full, hasSpace, nextCheck <= .now {
            isSpaceDoubtful = true
            nextCheck = .now + .seconds(600)
        }
        // A second read error in a row will not pass.
        if error.isUnreadable && wasUnreadable { damage = error }
        if error.kind == .corrupt, !tryReadingAgain(because: error, journal) { damage = error }
        wasUnreadable = error.isUnreadable
    }

    /// If memory and the store disagree, memory may be wrong: reading the store again compares all
    /// its parts. If that happens again soon, the store is damaged.
    private mutating func tryReadingAgain(because error: SQLiteError, _ journal: Journal) -> Bool {
        guard error.isOurs, nextReading <= .now else { return false }
        nextReading = .now + .seconds(600)
        journal.warning(
            "queue in memory disagrees with its database, which is read again",
            ["reason": error]
        )
        return true
    }

    mutating func checked(_ found: SQLiteError?) {
        isSpaceDoubtful = false
        if let found { damage = found }
    }

    mutating func failed(_ new: QueueError, _ journal: Journal) {
        if problem == nil { journal.error("queue cannot be written", ["reason": new]) }
        problem = new
        count += 1
        postpone()
    }

    mutating func openingFailed(_ new: QueueError) {
        problem = new
        postpone()
    }

    mutating func recovered(_ journal: Journal) {
        guard problem != nil else { return }
        problem = nil
        wasUnreadable = false
        nextPause = tuning.retryMin
        journal.info("queue can be written again")
    }
}
