import System
import TestPostgreSQL

/// A real primary with a synchronous standby, for all tests that do not harm them.
let sharedDatabase = SharedDatabase()

final class SharedDatabase: @unchecked Sendable {
    /// Under the lock.
    private var database: Database?
    private let lock = Locked(())

    func get() throws -> Database {
        try lock.withLock { _ in
            if let database { return database }
            let started = try Database()
            database = started
            return started
        }
    }
}
