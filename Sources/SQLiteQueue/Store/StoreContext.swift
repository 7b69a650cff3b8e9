import Queue
import SQLite
import System

/// The state that all parts of an open store share: the database, the rules, the time and the supply of numbers.
final class StoreContext {
    let database: QueueDatabase
    private(set) var configuration: QueueConfiguration
    let now: @Sendable () -> WallTime
    private var ids = IdentifierSupply(after: 0)

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

/// A part of an open store.
protocol StorePart: AnyObject {
    var context: StoreContext { get }
}

extension StorePart {
    var database: QueueDatabase { context.database }
    var configuration: QueueConfiguration { context.configuration }
    func now() -> WallTime { context.now() }
}
