import Queue
import SQLite
import System

/// Why the store is closed, when it may be opened again, and how.
struct StoreFailures {
    private var retry: RetryPause
    /// Nil while the store works.
    private(set) var problem: QueueError?
    /// What was found wrong with the database: the next attempt to open it begins with a salvage.
    var damage: SQLiteError?
    /// The last failure was one to read.
    private var wasUnreadable = false
    /// When a store that disagrees with what is known may be read again instead of being rebuilt.
    private var nextReading = Moment(nanoseconds: 0)
    /// Since the start.
    private(set) var count = 0

    init(_ tuning: QueueTuning) {
        retry = RetryPause(tuning)
    }

    /// How long until the next attempt to open the store.
    var pause: Duration { retry.next - .now }
    var mayTryAgain: Bool { retry.next <= .now }

    /// Finds out whether the error says that the database is damaged.
    mutating func examine(_ error: SQLiteError, _ journal: Journal) {
        // What cannot be read twice will not be read the third time.
        if error.isUnreadable && wasUnreadable { damage = error }
        if error.kind == .corrupt, !isReadAgain(because: error, journal) { damage = error }
        wasUnreadable = error.isUnreadable
    }

    /// Where what is known and what is stored disagree, what is known may be wrong: then it is enough to read the store
    /// again, which compares all its parts. When it happens again soon after, the store is damaged.
    private mutating func isReadAgain(because error: SQLiteError, _ journal: Journal) -> Bool {
        guard error.isOurs, nextReading <= .now else { return false }
        nextReading = .now + .seconds(600)
        journal.warning(
            "queue does not agree with its database, which is read again",
            ["reason": error]
        )
        return true
    }

    mutating func failed(_ new: QueueError, _ journal: Journal) {
        if problem == nil { journal.error("queue cannot be written", ["reason": new]) }
        problem = new
        count += 1
        retry.failed()
    }

    /// The store could not be opened.
    mutating func failedAgain(_ new: QueueError) {
        problem = new
        retry.failed()
    }

    /// A commit succeeded.
    mutating func ended(_ journal: Journal) {
        guard problem != nil else { return }
        problem = nil
        wasUnreadable = false
        retry.succeeded()
        journal.info("queue is written again")
    }
}

/// How long a store that failed is left alone: longer each time, until a write succeeds.
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
