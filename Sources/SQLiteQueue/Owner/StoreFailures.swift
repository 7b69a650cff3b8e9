import Queue
import SQLite
import System

/// The reason why the store is closed, and the time and manner of the next attempt to open it.
struct StoreFailures {
    private var retry: RetryPause
    /// Nil while the store works.
    private(set) var problem: QueueError?
    /// The damage of the database. The next attempt to open it begins with a salvage.
    var damage: SQLiteError?
    /// True if the last failure was a read error.
    private var wasUnreadable = false
    /// True if SQLite found no space although the disk has some. A damaged page that names a page
    /// far behind the file's end looks the same, so the next opening checks all pages first.
    private(set) var isSpaceDoubtful = false
    /// The earliest time of the next such check, which reads the whole file.
    private var nextCheck = Moment(nanoseconds: 0)
    /// The earliest time to read a store that disagrees with memory again, instead of rebuilding
    /// it.
    private var nextReading = Moment(nanoseconds: 0)
    /// Since the start.
    private(set) var count = 0

    init(_ tuning: QueueTuning) {
        retry = RetryPause(tuning)
    }

    /// The time until the next attempt to open the store.
    var pause: Duration { retry.next - .now }
    var mayTryAgain: Bool { retry.next <= .now }

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

    /// Called after the pages were checked.
    mutating func checked(_ found: SQLiteError?) {
        isSpaceDoubtful = false
        if let found { damage = found }
    }

    mutating func failed(_ new: QueueError, _ journal: Journal) {
        if problem == nil { journal.error("queue cannot be written", ["reason": new]) }
        problem = new
        count += 1
        retry.failed()
    }

    /// Called when the store could not be opened.
    mutating func openingFailed(_ new: QueueError) {
        problem = new
        retry.failed()
    }

    /// Called after a successful commit.
    mutating func recovered(_ journal: Journal) {
        guard problem != nil else { return }
        problem = nil
        wasUnreadable = false
        retry.succeeded()
        journal.info("queue can be written again")
    }
}

/// The pause before a failed store is opened again. It grows until a write succeeds.
private struct RetryPause {
    private let shortest: Duration
    private let longest: Duration
    private var pause: Duration
    private(set) var next = Moment(nanoseconds: 0)

    init(_ tuning: QueueTuning) {
        shortest = tuning.retryMin
        longest = tuning.retryMax
        pause = shortest
    }

    mutating func failed() {
        next = .now + pause
        pause = min(longest, pause * 2)
    }

    mutating func succeeded() {
        pause = shortest
    }
}
