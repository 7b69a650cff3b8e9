import Queue
import SQLite
import System

/// The state that all parts of an open store share: the database, the rules, the time and the
/// supply of numbers.
final class StoreContext {
    let database: QueueDatabase
    private(set) var configuration: QueueConfiguration
    let now: @Sendable () -> WallTime
    private var ids = IdentifierSupply(after: 0)
    /// Learns of logs that end without delivery. Set when the owner has opened the store.
    var watcher: WatcherSlot?
    /// Logs whose end the watcher does not know yet.
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
    var isWatched: Bool { watcher?.wantsEnds ?? false }

    /// Notes for the watcher that logs end in the current transaction.
    func note(_ logs: EndedLogs) {
        if isWatched { ended.append(logs) }
    }

    /// Notes that every log of the row ended.
    func note(_ row: RowRecord, of stream: QueuedStream, _ end: EndedLogs.End) {
        note(EndedLogs(stream: name(of: stream), numbers: row.numbers, end: end))
    }

    func name(of stream: QueuedStream) -> StreamID {
        StreamID(shard: configuration.shard, number: stream.id)
    }

    /// Tells the watcher of the ends that are durable. Called after a commit and after its answers,
    /// because no request waits for it. `DatabaseFiles` commits by itself, so there may be ends
    /// although the last turn wrote nothing.
    func tellEnded() {
        precondition(!database.isWriting, "an end would be told before its commit")
        guard !ended.isEmpty else { return }
        watcher?.current?.note(ended)
        ended.removeAll()
    }

    // MARK: - Numbers

    /// At a start: finds the highest number that may be in use, in the database or since the
    /// process began.
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

/// A part of an open store.
protocol StorePart: AnyObject {
    var context: StoreContext { get }
}

extension StorePart {
    var database: QueueDatabase { context.database }
    var configuration: QueueConfiguration { context.configuration }
    func now() -> WallTime { context.now() }
}
