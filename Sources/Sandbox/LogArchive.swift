import SQLite
import System

/// The received logs, in SQLite, in order of arrival. When the archive is full, it drops the oldest
/// requests with all their logs.
struct LogArchive: ~Copyable {
    /// The archive's current content.
    struct Size: Equatable, Sendable {
        var requests = 0
        var logs = 0
        var bytes = 0
    }

    /// The result of a write.
    struct Receipt: Equatable, Sendable {
        /// The logstore already had this pack id.
        let isDuplicate: Bool
        let dropped: Size
    }

    let database: Connection
    let statements: ArchiveStatements
    private let isInMemory: Bool
    let logsMax: Int
    let bytesMax: Int
    let lanesMax: Int

    private(set) var size: Size
    private(set) var lastRequest: Int64
    /// The cursor after the newest log. It never goes back, even when the archive is cleared.
    private(set) var lastLog: Int64

    init(path: String?, capacity: SandboxConfiguration.Capacity) throws(SQLiteError) {
        let database = try Connection(path ?? ":memory:", .scratch)
        try ArchiveStatements.createTables(in: database, path: path)
        let statements = try ArchiveStatements(database)
        let sums = statements.sums
        _ = try sums.step()
        self.database = database
        self.statements = statements
        isInMemory = path == nil
        logsMax = capacity.storedLogsMax
        bytesMax = capacity.storedBytesMax
        lanesMax = capacity.lanesMax
        size = Size(
            requests: Int(sums.integer(0)),
            logs: Int(sums.integer(1)),
            bytes: Int(sums.integer(2))
        )
        lastRequest = sums.integer(3)
        lastLog = sums.integer(4)
        sums.reset()
    }

    /// The target of a write and the facts about it.
    struct Address: Sendable {
        let project: String
        let logstore: String
        let requestID: String
        let received: WallTime
        /// The hash key and sequence id of an exactly-once write.
        var lane: (key: String, sequence: UInt64)?
    }

    /// Stores all logs of a request, or none.
    mutating func store(
        _ logs: ReceivedLogs,
        at address: Address
    ) throws(SQLiteError) -> Receipt {
        try database.execute("BEGIN")
        do {
            let isDuplicate = try isKnown(logs.packID, at: address)
            let added = try insert(logs, at: address)
            if let lane = address.lane { try move(lane, of: address) }
            let dropped = try dropOldest(sparing: added)
            try database.execute("COMMIT")
            size.requests += 1 - dropped.requests
            size.logs += added.logs - dropped.logs
            size.bytes += added.bytes - dropped.bytes
            lastRequest += 1
            lastLog += Int64(added.logs)
            return Receipt(isDuplicate: isDuplicate, dropped: dropped)
        } catch {
            try? database.execute("ROLLBACK")
            throw error
        }
    }

    /// Deletes all logs. Lanes stay, because SLS does not forget them either.
    mutating func clear() throws(SQLiteError) {
        // In memory, the journal would copy all deleted content, and a deletion there cannot fail
        // halfway. It is switched on again even after a failed statement.
        if isInMemory { try database.execute("PRAGMA journal_mode = OFF") }
        defer { if isInMemory { try? database.execute("PRAGMA journal_mode = MEMORY") } }
        do throws(SQLiteError) {
            try database.execute("BEGIN; DELETE FROM log; DELETE FROM request; COMMIT")
        } catch {
            try? database.execute("ROLLBACK")
            throw error
        }
        size = Size()
        try database.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// The last sequence id of a lane; nil for an unused lane.
    func sequence(of key: String, _ project: String, _ logstore: String) throws(SQLiteError)
        -> UInt64?
    {
        statements.findLane.bind(1, project)
        statements.findLane.bind(2, logstore)
        statements.findLane.bind(3, key)
        guard try statements.findLane.step() else { return nil }
        defer { statements.findLane.reset() }
        return UInt64(statements.findLane.text(0))
    }
}
