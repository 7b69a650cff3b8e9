import JSON
import SQLite
import System

/// The received logs, in SQLite. A full archive drops its oldest requests with their logs.
struct LogArchive: ~Copyable {
    struct Receipt: Equatable, Sendable {
        /// The logstore already had this pack id.
        let isDuplicate: Bool
        let dropped: LogTally
    }

    let database: Connection
    let statements: ArchiveStatements
    private let isInMemory: Bool
    let logsMax: Int
    let bytesMax: Int
    let lanesMax: Int

    private(set) var size: LogTally
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
        size = LogTally(
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
        let visit: Sandbox.Visit
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
            size += added
            size -= dropped
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
        size = LogTally()
        try database.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// The last sequence id of a lane; nil for an unused lane.
    func sequence(of key: String, at address: Address) throws(SQLiteError) -> UInt64? {
        statements.findLane.bind(1, address.project)
        statements.findLane.bind(2, address.logstore)
        statements.findLane.bind(3, key)
        guard try statements.findLane.step() else { return nil }
        defer { statements.findLane.reset() }
        return UInt64(statements.findLane.text(0))
    }

    // MARK: - Steps of a write, inside its transaction

    /// SQLite's approximate overhead for a log.
    private static var overheadBytes: Int { 32 }

    func isKnown(_ pack: String?, at address: Address) throws(SQLiteError) -> Bool {
        guard let pack else { return false }
        statements.findPack.bind(1, pack)
        statements.findPack.bind(2, address.project)
        statements.findPack.bind(3, address.logstore)
        defer { statements.findPack.reset() }
        return try statements.findPack.step()
    }

    func insert(
        _ logs: ReceivedLogs,
        at address: Address
    ) throws(SQLiteError) -> LogTally {
        let count = logs.entries.count
        let bytes =
            logs.json.bytes.count + logs.tags.bytes.count + logs.topic.utf8.count
            + logs.source.utf8.count + (count + 4) * Self.overheadBytes
        statements.insertRequest.bind(1, lastRequest + 1)
        statements.insertRequest.bind(2, address.visit.now.nanoseconds)
        statements.insertRequest.bind(3, address.visit.requestID)
        statements.insertRequest.bind(4, address.project)
        statements.insertRequest.bind(5, address.logstore)
        statements.insertRequest.bind(6, logs.topic)
        statements.insertRequest.bind(7, logs.source)
        statements.insertRequest.bind(8, String(decoding: logs.tags.bytes, as: UTF8.self))
        statements.insertRequest.bind(9, logs.packID)
        statements.insertRequest.bind(10, Int64(count))
        statements.insertRequest.bind(11, Int64(bytes))
        statements.insertRequest.bind(12, lastLog + Int64(count))
        try statements.insertRequest.run()
        try logs.json.bytes.withUnsafeBufferPointer { json throws(SQLiteError) in
            let json = UnsafeRawBufferPointer(json)
            for (place, entry) in logs.entries.enumerated() {
                statements.insertLog.bind(1, lastLog + 1 + Int64(place))
                statements.insertLog.bind(2, lastRequest + 1)
                statements.insertLog.bind(3, Int64(place))
                statements.insertLog.bind(4, Int64(entry.time))
                statements.insertLog.bind(5, entry.nanoseconds.map(Int64.init))
                statements.insertLog.bind(
                    6,
                    borrowingText: UnsafeRawBufferPointer(rebasing: json[entry.fields])
                )
                try statements.insertLog.run()
            }
        }
        return LogTally(requests: 1, logs: count, bytes: bytes)
    }

    func move(
        _ lane: (key: String, sequence: UInt64),
        of address: Address
    ) throws(SQLiteError) {
        statements.moveLane.bind(1, address.project)
        statements.moveLane.bind(2, address.logstore)
        statements.moveLane.bind(3, lane.key)
        // Stored as text, because a sequence id may exceed a signed integer.
        statements.moveLane.bind(4, "\(lane.sequence)")
        try statements.moveLane.run()
        // A replaced lane gets a new row at the end, so the lowest rows are the longest unused.
        statements.trimLanes.bind(1, Int64(lanesMax))
        try statements.trimLanes.run()
    }

    func dropOldest(sparing added: LogTally) throws(SQLiteError) -> LogTally {
        var dropped = LogTally()
        while size.requests - dropped.requests > 0,
            size.logs + added.logs - dropped.logs > logsMax
                || size.bytes + added.bytes - dropped.bytes > bytesMax,
            try statements.oldestRequest.step()
        {
            let id = statements.oldestRequest.integer(0)
            let lastLog = statements.oldestRequest.integer(1)
            dropped.requests += 1
            dropped.logs += Int(statements.oldestRequest.integer(2))
            dropped.bytes += Int(statements.oldestRequest.integer(3))
            statements.oldestRequest.reset()
            statements.deleteLogs.bind(1, lastLog)
            try statements.deleteLogs.run()
            statements.deleteRequest.bind(1, id)
            try statements.deleteRequest.run()
        }
        return dropped
    }
}

/// Requests with their logs and bytes.
struct LogTally: Equatable, Sendable {
    var requests = 0
    var logs = 0
    var bytes = 0

    static func += (sum: inout LogTally, more: LogTally) {
        sum.requests += more.requests
        sum.logs += more.logs
        sum.bytes += more.bytes
    }

    static func -= (sum: inout LogTally, less: LogTally) {
        sum.requests -= less.requests
        sum.logs -= less.logs
        sum.bytes -= less.bytes
    }
}

/// The archive's tables and its prepared statements.
struct ArchiveStatements {
    private static let schemaVersion: Int64 = 1

    let insertRequest: Statement
    let insertLog: Statement
    let findPack: Statement
    let oldestRequest: Statement
    let deleteRequest: Statement
    let deleteLogs: Statement
    let findLane: Statement
    let moveLane: Statement
    let trimLanes: Statement
    let sums: Statement

    init(_ database: Connection) throws(SQLiteError) {
        insertRequest = try database.prepare(
            "INSERT INTO request VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        insertLog = try database.prepare("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)")
        findPack = try database.prepare(
            "SELECT 1 FROM request WHERE pack = ? AND project = ? AND logstore = ? LIMIT 1"
        )
        oldestRequest = try database.prepare(
            "SELECT id, last_log, logs, bytes FROM request ORDER BY id LIMIT 1"
        )
        deleteRequest = try database.prepare("DELETE FROM request WHERE id = ?")
        deleteLogs = try database.prepare("DELETE FROM log WHERE id <= ?")
        findLane = try database.prepare(
            "SELECT sequence FROM lane WHERE project = ? AND logstore = ? AND key = ?"
        )
        moveLane = try database.prepare("INSERT OR REPLACE INTO lane VALUES (?, ?, ?, ?)")
        trimLanes = try database.prepare(
            "DELETE FROM lane WHERE rowid <= (SELECT max(rowid) FROM lane) - ?"
        )
        sums = try database.prepare(
            "SELECT count(*), ifnull(sum(logs), 0), ifnull(sum(bytes), 0), "
                + "ifnull(max(id), 0), ifnull(max(last_log), 0) FROM request"
        )
    }

    /// Creates the tables in a new file; refuses another version. The path is for the error.
    static func createTables(in database: Connection, path: String?) throws(SQLiteError) {
        // No other process may change the file, because its counts are kept in memory.
        try database.execute("PRAGMA locking_mode = EXCLUSIVE")
        // A crash loses nothing. A power cut may: the archive only serves to look at logs.
        try database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
        // Debian's SQLite overwrites deleted content, which makes deleting as expensive as storing.
        try database.execute("PRAGMA secure_delete = OFF")
        let version = try database.integer("PRAGMA user_version")
        guard version != schemaVersion else { return }
        guard version == 0 else {
            throw .unsuitable(
                "\(path ?? "memory") has a schema of version \(version), and this sandbox writes "
                    + "\(schemaVersion); choose another file or remove it"
            )
        }
        try database.execute(
            """
            BEGIN;
            CREATE TABLE request (
                id INTEGER PRIMARY KEY, received INTEGER, request_id TEXT, project TEXT,
                logstore TEXT, topic TEXT, source TEXT, tags TEXT, pack TEXT, logs INTEGER,
                bytes INTEGER, last_log INTEGER
            );
            CREATE INDEX request_pack ON request (pack) WHERE pack IS NOT NULL;
            CREATE TABLE log (
                id INTEGER PRIMARY KEY, request INTEGER, place INTEGER, time INTEGER, ns INTEGER,
                fields TEXT
            );
            CREATE TABLE lane (
                project TEXT, logstore TEXT, key TEXT, sequence TEXT,
                UNIQUE (project, logstore, key)
            );
            PRAGMA user_version = \(schemaVersion);
            COMMIT
            """
        )
    }
}
