import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// A queue of this version, opened by a later one whose schema has one more step.
struct LaterVersion {
    static let steps =
        QueueSchema.migrations + ["ALTER TABLE streams ADD COLUMN lane INTEGER NOT NULL DEFAULT 7"]
    static let keptName = "queue.schema-\(QueueSchema.migrations.count).db"

    /// Opens and closes the queue, as the start of a gateway does.
    static func open(_ path: String, _ journal: Journal = .silent) throws(SQLiteError) {
        let configuration = QueueConfiguration.small(path)
        let directory = DataDirectory(path: path)
        let upgrade = SchemaUpgrade(
            directory: directory,
            room: DiskRoom(directory, diskBytes: nil),
            journal: journal,
            freeBytesMin: configuration.freeBytesMin,
            target: steps.count
        )
        let (connection, found) = try QueueDatabase.connect(
            directory.database,
            configuration,
            steps,
            keepingOlder: upgrade.keepOlder
        )
        upgrade.report(from: found)
        try connection.finish()
    }
}

/// What a database holds of the logs of each logstore, byte for byte and in their order.
func storedLogs(_ database: String) throws -> [String: [UInt8]] {
    let connection = try Connection(database, .readOnly)
    let rows = try connection.prepare(
        """
        SELECT logstore, raw, payload FROM rows JOIN streams ON streams.id = rows.stream
        ORDER BY rows.id
        """
    )
    var logs: [String: [UInt8]] = [:]
    while try rows.step() {
        let raw = try LZ4.decompress(rows.bytes(2), rawBytes: Int(rows.integer(1)))
        logs[rows.text(0), default: []] += raw
    }
    return logs
}

/// The same of a directory's queue, which is left as it is.
func storedLogs(in directory: TemporaryDirectory) throws -> [String: [UInt8]] {
    let copy = directory.copy()
    return try withExtendedLifetime(copy) { try storedLogs(copy.path + "/queue.db") }
}

@Suite(.timeLimit(.minutes(10))) struct UpgradeTests {
    /// A queue whose 300 logs are in its WAL.
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory().fillLog() }

    private var database: String { directory.path + "/queue.db" }
    private var kept: String { directory.path + "/" + LaterVersion.keptName }

    private func version(of file: String) throws -> Int64 {
        try Connection(file, .readOnly).integer("PRAGMA user_version")
    }

    @Test("An older queue is kept as it was, whole, and the journal says where")
    func keptCopy() throws {
        let stored = try storedLogs(in: directory)
        let lines = Awaited<String>()
        try LaterVersion.open(directory.path, lines.journal())
        let said = lines.take(lines.count)
        #expect(said.contains { $0.contains("migrated to a newer schema") && $0.contains(kept) })
        var about = stat()
        #expect(stat(kept, &about) == 0 && about.st_mode & 0o777 == 0o600)
        #expect(try version(of: database) == Int64(LaterVersion.steps.count))
        let connection = try Connection(kept, .readOnly)
        #expect(
            try connection.integer("PRAGMA user_version") == Int64(QueueSchema.migrations.count)
        )
        #expect(try connection.integer("PRAGMA application_id") == Int64(QueueSchema.applicationID))
        #expect(try connection.integer("PRAGMA auto_vacuum") == 2)
        #expect(try connection.text("PRAGMA integrity_check") == "ok")
        #expect(try storedLogs(kept) == stored)
        #expect(try storedLogs(database) == stored)
    }

    @Test("A queue of the same version is not copied, also the second time after an upgrade")
    func sameVersion() throws {
        try DurableQueue(.small(directory.path), journal: .silent).close()
        #expect(access(kept, F_OK) != 0)
        try LaterVersion.open(directory.path)
        #expect(unlink(kept) == 0)
        try LaterVersion.open(directory.path)
        #expect(access(kept, F_OK) != 0)
    }

    @Test("The copy that an upgrade kept can be put back, used, and upgraded again")
    func putBack() throws {
        try LaterVersion.open(directory.path)
        #expect(throws: QueueError.self) {
            try DurableQueue(.small(directory.path), journal: .silent)
        }
        #expect(rename(kept, database) == 0)
        let store = try directory.queue()
        #expect(store.status.ledger.queued == 300 && store.status.salvages == 0)
        store.close()
        try LaterVersion.open(directory.path)
        #expect(access(kept, F_OK) == 0)
    }

    @Test("A partial copy of an interrupted upgrade is replaced by a whole one")
    func afterDeath() throws {
        for name in [kept, kept + ".new", kept + ".new-journal"] { writeFile(name, [1, 2, 3]) }
        try LaterVersion.open(directory.path)
        #expect(!directory.names.contains { $0.contains(".new") })
        #expect(try Connection(kept, .readOnly).text("PRAGMA integrity_check") == "ok")
    }

    @Test("If an upgrade cannot keep a copy, it changes nothing and tells the reason")
    func noCopy() throws {
        let stored = try storedLogs(in: directory)
        // A directory in its place.
        mkdir(kept, 0o700)
        let error = #expect(throws: SQLiteError.self) { try LaterVersion.open(directory.path) }
        #expect(error.map { "\($0)".contains(LaterVersion.keptName) } == true)
        #expect(try version(of: database) == Int64(QueueSchema.migrations.count))
        #expect(try storedLogs(in: directory) == stored)
        #expect(!directory.names.contains { $0.hasSuffix(".new") })
    }
}

@Suite(.timeLimit(.minutes(10))) struct MigrationTests {
    let directory = TemporaryDirectory()

    private func fill() throws {
        let store = try directory.queue()
        _ = store.store(Batch(logs(0..<10)))
        store.close()
    }

    @Test("A step forward changes the tables and the version together, and keeps what is queued")
    func forward() throws {
        try fill()
        let connection = try Connection(directory.path + "/queue.db", .readWrite)
        let steps =
            QueueSchema.migrations + [
                "ALTER TABLE streams ADD COLUMN lane INTEGER NOT NULL DEFAULT 7",
                "CREATE TABLE later (number INTEGER PRIMARY KEY)",
            ]
        try QueueSchema.migrate(connection, from: QueueSchema.migrations.count, steps)
        #expect(try connection.integer("PRAGMA user_version") == Int64(steps.count))
        #expect(try connection.integer("SELECT lane FROM streams") == 7)
        #expect(try connection.integer("SELECT sum(logs) FROM rows") == 10)
        #expect(try connection.integer("SELECT count(*) FROM later") == 0)
    }

    @Test(
        "Steps that fail or are cut off by a crash leave the version before the first of them, whole"
    )
    func interrupted() throws {
        try fill()
        let version = Int64(QueueSchema.migrations.count)
        do {
            let connection = try Connection(directory.path + "/queue.db", .readWrite)
            let first = "CREATE TABLE later (number INTEGER PRIMARY KEY)"
            let second = "DELETE FROM rows; ALTER TABLE missing ADD COLUMN lane INTEGER"
            #expect(throws: SQLiteError.self) {
                try QueueSchema.migrate(
                    connection,
                    from: QueueSchema.migrations.count,
                    QueueSchema.migrations + [first, second]
                )
            }
            // The process ends here, in the middle of the second step.
            #expect(try connection.integer("SELECT count(*) FROM rows") == 0)
            #expect(try connection.integer("SELECT count(*) FROM later") == 0)
        }
        let connection = try Connection(directory.path + "/queue.db", .readWrite)
        #expect(try connection.integer("PRAGMA user_version") == version)
        #expect(try connection.integer("SELECT sum(logs) FROM rows") == 10)
        #expect(throws: SQLiteError.self) { try connection.prepare("SELECT * FROM later") }
    }
}
