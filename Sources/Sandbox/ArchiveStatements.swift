import SQLite

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

    /// Creates the tables in a new file and refuses a file of another version; the path is for the
    /// error.
    static func createTables(in database: Connection, path: String?) throws(SQLiteError) {
        // No other process may change the file, because its counts are kept in memory.
        try database.execute("PRAGMA locking_mode = EXCLUSIVE")
        // A crash of the process loses nothing. A power cut may, which is acceptable: the archive
        // only serves to look at logs.
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
