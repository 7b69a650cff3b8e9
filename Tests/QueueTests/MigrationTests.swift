import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(1))) struct MigrationTests {
    let directory = TemporaryDirectory()

    private func fill() throws {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        _ = store.store(Batch(stream: .named("a"), logs: logs(0..<10)))
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
