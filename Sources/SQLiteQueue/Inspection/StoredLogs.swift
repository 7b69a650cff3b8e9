import Queue
import SQLite

/// What the ledgers of a database say that no gateway uses at this moment.
package struct StoredLogs: Equatable, Sendable {
    package private(set) var accepted: Int64 = 0
    /// Those that wait, dead letters included.
    package private(set) var waiting: Int64 = 0

    /// The logs of the local queue in a data directory; nil: there is none, or it cannot be read.
    package static func ofLocalQueue(in directory: String) -> StoredLogs? {
        of(DataDirectory(path: directory))
    }

    static func of(_ directory: DataDirectory) -> StoredLogs? {
        let database = directory.database
        guard fileSize(database) ?? 0 > 0 else { return nil }
        let companions = SQLiteCompanions.missing(of: database)
        defer { for name in companions { SQLiteCompanions.remove(name) } }
        do throws(SQLiteError) {
            let connection = try Connection(database, .readOnly)
            guard try connection.integer("PRAGMA user_version") > 0 else { return nil }
            var logs = StoredLogs()
            logs.accepted = try connection.integer("SELECT coalesce(sum(accepted), 0) FROM ledger")
            logs.waiting = try connection.integer(
                "SELECT coalesce(sum(queued + dead), 0) FROM ledger"
            )
            return logs
        } catch {
            return nil
        }
    }
}
