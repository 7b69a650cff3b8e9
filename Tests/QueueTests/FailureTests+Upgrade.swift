import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

extension FailureTests {
    @Test(
        "A disk without room for a copy of an older queue leaves it as it is, and says how much is missing"
    )
    func noRoomForCopy() throws {
        let older = try TemporaryDirectory().fillLog()
        let path = directory.path + "/faulty"
        try open().close()
        for name in ["queue.db", "queue.db-wal"] {
            writeFile("\(path)/\(name)", readFile("\(older.path)/\(name)"))
        }
        DiskFault.set(.full)
        let error = #expect(throws: SQLiteError.self) { try LaterVersion.open(path) }
        let told = try QueueError(#require(error), path: path + "/queue.db")
        #expect(told.kind == .diskFull)
        let version = QueueSchema.migrations.count
        let steps = "has schema \(version) and must be brought to \(version + 1)"
        #expect(told.description.contains(steps))
        #expect(readFile(path + "/queue.db") == readFile(older.path + "/queue.db"))
        #expect(readFile(path + "/queue.db-wal") == readFile(older.path + "/queue.db-wal"))
        let names = TemporaryDirectory.names(in: path)
        #expect(!names.contains { $0.hasPrefix(LaterVersion.keptName) })

        DiskFault.set(.none)
        try LaterVersion.open(path)
        #expect(TemporaryDirectory.names(in: path).contains(LaterVersion.keptName))
        #expect(try storedLogs(path + "/queue.db") == storedLogs(in: older))
    }
}
