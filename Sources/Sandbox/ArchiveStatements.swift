/// The archive's tables, and what is done to them over and over.
struct ArchiveStatements {
    private static let schemaVersion: Int64 = 1

    let insertRequest: ArchiveStatement
    let insertLog: ArchiveStatement
    let findPack: ArchiveStatement
    let oldestRequest: ArchiveStatement
    let deleteRequest: ArchiveStatement
    let deleteLogs: ArchiveStatement
    let findLane: ArchiveStatement
    let moveLane: ArchiveStatement
    let trimLanes: ArchiveStatement
    let sums: ArchiveStatement

    init(_ database: Database) throws(DatabaseError) {
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

    /// Makes a new file's tables, and refuses a file of another version; the path is for the error.
    static func createTables(in database: Database, path: String?) throws(DatabaseError) {
        // Nobody else may change the file meanwhile: the counts are kept beside it.
        try database.run("PRAGMA locking_mode = EXCLUSIVE")
        // A crash of the process loses nothing, a power cut may: it is a place to look at logs.
        try database.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
        // Debian's SQLite overwrites what is deleted, which makes dropping as dear as storing.
        try database.run("PRAGMA secure_delete = OFF")
        let statement = try database.prepare("PRAGMA user_version")
        _ = try statement.step()
        let version = statement.integer(0)
        statement.reset()
        guard version != schemaVersion else { return }
        guard version == 0 else {
            throw DatabaseError(
                code: 0,
                reason: "its schema is version \(version), this sandbox writes \(schemaVersion); "
                    + "choose another file or remove it",
                action: "open \(path ?? "memory")"
            )
        }
        try database.run(
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
