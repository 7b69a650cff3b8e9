import Queue
import SQLite
import System

/// The state that all parts of an open store share: the database, the rules, the time and the supply of numbers.
final class StoreContext {
    let database: QueueDatabase
    private(set) var configuration: QueueConfiguration
    let now: @Sendable () -> WallTime
    private var ids = IdentifierSupply(after: 0)
    /// Learns of logs that end without delivery. Set when the owner has opened the store.
    var watch: QueueWatch?
    /// Logs that ended in the current transaction.
    private var ended: [EndedLogs] = []

    init(
        _ database: QueueDatabase,
        _ configuration: QueueConfiguration,
        now: @escaping @Sendable () -> WallTime
    ) {
        self.database = database
        self.configuration = configuration
        self.now = now
    }

    func apply(_ new: QueueConfiguration) { configuration = new }

    // MARK: - Ends of logs

    /// True if a watcher wants to know of logs that end.
    var isWatched: Bool { watch?.isWanted ?? false }

    /// Notes for the watcher that logs end in the current transaction.
    func note(_ logs: EndedLogs) {
        if isWatched { ended.append(logs) }
    }

    /// The same of a row with all its logs.
    func note(_ row: RowRecord, of stream: QueuedStream, _ end: EndedLogs.End) {
        note(EndedLogs(stream: stream.id, numbers: row.numbers, end: end))
    }

    /// Called after a commit.
    func tellEnded() {
        guard !ended.isEmpty else { return }
        watch?.watcher?.note(ended)
        ended.removeAll()
    }

    // MARK: - Numbers

    /// At a start: finds the highest number that may be in use, in the database or since the process began.
    func recoverNumbers(after lastNumber: Int64) throws(SQLiteError) {
        let highest = try IdentifierSupply.highest(database.connection)
        ids = IdentifierSupply(after: max(highest, lastNumber))
    }

    /// A number that was never given out.
    func takeNumber() throws(SQLiteError) -> Int64 { try ids.take(database) }

    /// Takes `count` consecutive numbers and returns the first.
    func takeNumbers(_ count: Int) throws(SQLiteError) -> Int64 {
        try ids.take(database, count: count)
    }

    /// The last number that was given out.
    var lastNumber: Int64 { ids.last }
}

/// The queue's watcher, which may come after the queue has started.
final class QueueWatch: Sendable {
    private let current = Locked<(any QueueWatcher)?>(nil)

    var watcher: (any QueueWatcher)? { current.withLock { $0 } }
    var isWanted: Bool { watcher?.wantsEnds ?? false }

    func set(_ watcher: any QueueWatcher) { current.withLock { $0 = watcher } }
}

/// A part of an open store.
protocol StorePart: AnyObject {
    var context: StoreContext { get }
}

extension StorePart {
    var database: QueueDatabase { context.database }
    var configuration: QueueConfiguration { context.configuration }
    func now() -> WallTime { context.now() }
}
