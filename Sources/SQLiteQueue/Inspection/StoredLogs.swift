import Glibc
package import Queue
import SQLite
import System

/// What the ledgers of a queue say that no gateway uses at this moment.
package struct StoredLogs: Equatable, Sendable {
    package private(set) var queued: Int64 = 0
    package private(set) var dead: Int64 = 0
    /// Its database, for the operator.
    package let path: String

    /// The queue of another engine in a data directory; nil: none. `isScratch`: the copy of a queue
    /// whose commit log lies elsewhere. Throws if a gateway uses the directory.
    package static func ofQueue(
        in directory: String,
        isScratch: Bool
    ) throws(QueueError) -> StoredLogs? {
        let directory = DataDirectory(path: directory, isScratch: isScratch)
        guard fileSize(directory.database) ?? 0 > 0 else { return nil }
        let lock = try DirectoryLock(directory)
        let logs = try count(in: directory.database)
        _ = consume lock
        return logs
    }

    static func count(in database: String) throws(QueueError) -> StoredLogs? {
        let companions = SQLiteCompanions.missing(of: database)
        defer { for name in companions { unlink(name) } }
        return try withSQLiteErrors(of: database) { () throws(SQLiteError) in
            let connection = try Connection(database, .readOnly)
            guard try connection.integer("PRAGMA user_version") > 0 else { return nil }
            var logs = StoredLogs(path: database)
            logs.queued = try connection.integer("SELECT coalesce(sum(queued), 0) FROM ledger")
            logs.dead = try connection.integer("SELECT coalesce(sum(dead), 0) FROM ledger")
            return logs
        }
    }
}

extension StoredLogs {
    /// Removes the directory of a scratch database that no queue uses, and what a queue puts there.
    package static func removeScratch(in directory: String) {
        let directory = DataDirectory(path: directory, isScratch: true)
        directory.removeDatabase()
        directory.removeBase()
        for file in [directory.position, directory.lock, directory.restoreDraft] { unlink(file) }
        rmdir(directory.path)
    }

    /// The name of the commit log whose copy lies in the directory, or nil if that is not known.
    package static func commitLog(in directory: String) -> String? {
        DataDirectory(path: directory, isScratch: true).knownPosition?.log
    }

    /// The copy of a cluster's shard with the most undelivered logs and dead letters; nil: none has
    /// any.
    package static func ofShards(in directory: String) throws(QueueError) -> StoredLogs? {
        var found: StoredLogs?
        for name in fileNames(in: directory + "/shards") {
            let logs = try ofQueue(in: "\(directory)/shards/\(name)", isScratch: true)
            guard let logs, logs.queued + logs.dead > found.map({ $0.queued + $0.dead }) ?? 0
            else { continue }
            found = logs
        }
        return found
    }
}
