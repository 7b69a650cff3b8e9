import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

extension FailureTests {
    @Test(
        "A disk without room for a copy of an older queue leaves it as it is, and says how much is missing"
    )
    func noRoomForCopy() throws {
        let older = TemporaryDirectory()
        try SchemaFixture(schema: 3, wasKilled: true).unpack(into: older)
        let path = directory.path + "/faulty"
        try open().close()
        for name in ["queue.db", "queue.db-wal"] {
            writeFile("\(path)/\(name)", readFile("\(older.path)/\(name)"))
        }
        DiskFault.set(.full)
        let error = #expect(throws: QueueError.self) {
            try DurableQueue(.small(path), journal: .silent, clock: SchemaFixture.clock)
        }
        #expect(error?.kind == .diskFull)
        #expect(error?.description.contains("has schema 3") == true)
        #expect(readFile(path + "/queue.db") == readFile(older.path + "/queue.db"))
        #expect(readFile(path + "/queue.db-wal") == readFile(older.path + "/queue.db-wal"))
        #expect(TemporaryDirectory.names(in: path).allSatisfy { !$0.contains("schema-3") })

        DiskFault.set(.none)
        let store = try DurableQueue(.small(path), journal: .silent, clock: SchemaFixture.clock)
        defer { store.close() }
        #expect(store.status.ledger.queued == 90)
        #expect(TemporaryDirectory.names(in: path).contains("queue.schema-3.db"))
    }
}
