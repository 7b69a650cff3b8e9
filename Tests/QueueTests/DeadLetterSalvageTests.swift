import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(1))) struct DeadLetterSalvageTests {
    let directory = TemporaryDirectory()

    /// Ten logs queued and a hundred dead, of which one is changed; returns the ledger of before.
    private func fill(_ change: String? = nil) throws -> Ledger {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        let reason = DeathReason(code: "A", message: "m")
        let now = UInt32(WallTime.now.seconds)
        let dead = Batch.Dead(logs: timed(0..<100, at: now, filling: 900), reason: reason)
        let batch = Batch(stream: .named("a"), logs: timed(100..<110, at: now), dead: [dead])
        #expect(store.store(batch) == .stored)
        let ledger = store.status.ledger
        store.close()
        if let change {
            let connection = try Connection(directory.path + "/queue.db", .readWrite)
            try connection.execute(change)
            try connection.finish()
        }
        return ledger
    }

    @Test("A rebuilt queue has all dead letters that can be read, and counts the others")
    func salvage() throws {
        let ledger = try fill(
            """
            UPDATE dead SET message = 'x' WHERE id = (SELECT max(id) FROM dead);
            UPDATE ledger SET accepted = -1
            """
        )
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        #expect(store.status.salvages == 1)
        #expect(try store.deadNumbers() == Array(0..<99))
        #expect(store.status.ledger.dead == 99 && store.status.ledger.queued == 10)
        #expect(store.status.ledger.discarded == 1)
        #expect(store.status.ledger.accepted == ledger.accepted)
        #expect(store.status.salvagedLogs == 109 && store.status.lostLogs == 1)
        #expect(store.status.ledger.isClosed)
    }

    @Test(
        "Numbers that cannot be are found at the start, and cost one letter",
        arguments: ["cost", "id"],
        [Int64.max, .min, -1, 1 << 60]
    )
    func implausible(column: String, value: Int64) throws {
        let ledger = try fill(
            "UPDATE dead SET \(column) = \(value) WHERE id = (SELECT max(id) FROM dead)"
        )
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        let found = store.status.ledger
        #expect(found.isClosed && found.accepted == ledger.accepted && found.queued == 10)
        #expect(found.dead >= 99)
        #expect(store.purging(.matching(.init())).changed == found.dead)
        #expect(store.status.ledger.isClosed && store.status.ledger.dead == 0)
    }
}
