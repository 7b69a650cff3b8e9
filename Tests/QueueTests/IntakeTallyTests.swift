import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(1))) struct IntakeTallyTests {
    let directory = TemporaryDirectory()

    private func tamper(_ directory: TemporaryDirectory, _ sql: String) throws {
        let connection = try Connection(directory.path + "/queue.db", .readWrite)
        try connection.execute(sql)
        try connection.finish()
    }

    @Test("A repeated request adds nothing")
    func repeated() throws {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        let identity = BatchIdentity(
            digest: Array(repeating: 7, count: 16),
            receipt: Array("r".utf8),
            logs: 5
        )
        for _ in 0..<2 {
            let answer = Awaited<AppendOutcome>()
            store.append([Batch(stream: .named("a"), logs: logs(0..<5))], identity: identity) {
                answer.put($0)
            }
            _ = answer.take(1)
        }
        #expect(store.status.intake == IntakeTally(received: 5, routed: 5, copies: 5))
    }

    @Test("A repeated request without batches adds nothing, also after a restart")
    func repeatedWithoutBatches() throws {
        let identity = BatchIdentity(
            digest: Array(repeating: 7, count: 16),
            receipt: Array("r".utf8),
            logs: 5
        )
        for turn in 0..<2 {
            let store = try DurableQueue(.small(directory.path), journal: .silent)
            defer { store.close() }
            let answer = Awaited<AppendOutcome>()
            let tally = IntakeTally(received: 5, filtered: 5)
            store.append([], identity: identity, sender: nil, tally: tally) { answer.put($0) }
            let repeated = AppendOutcome.repeated(receipt: identity.receipt, logs: 5)
            #expect(answer.take(1) == [turn == 0 ? .stored : repeated])
            #expect(store.status.intake == tally)
        }
    }

    @Test("Requests without batches are counted within a second, and survive a restart")
    func withoutBatches() throws {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        for _ in 0..<100 { store.count(IntakeTally(received: 3, filtered: 2, dropped: 1)) }
        store.wait { $0.intake.received == 300 }
        store.count(IntakeTally(received: 1, dropped: 1))
        store.close()
        let again = try DurableQueue(.small(directory.path), journal: .silent)
        defer { again.close() }
        #expect(again.status.intake == IntakeTally(received: 301, filtered: 200, dropped: 101))
    }

    @Test("Logs of all kinds count as copies, and replayed letters count once")
    func kinds() throws {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        let reason = DeathReason(code: "ValueTooLarge", message: "")
        let batch = Batch(
            stream: .named("a"),
            logs: logs(0..<5),
            dead: [Batch.Dead(logs: logs(5..<8), reason: reason)],
            dropped: 2
        )
        #expect(store.store(batch) == .stored)
        #expect(store.status.intake == IntakeTally(received: 10, routed: 10, copies: 10))
        let answer = Awaited<DeadLetterChange>()
        store.change(.replay, .matching(.init())) { answer.put($0) }
        _ = answer.take(1)
        store.wait { $0.ledger.dead == 0 }
        #expect(store.status.ledger.accepted == 10 && store.status.intake.copies == 10)
        store.close()
        #expect(try Inspection.run(directory.path).findings.isEmpty)
    }

    @Test(
        "A tally that does not agree with the ledgers is put right at a start",
        arguments: [
            "DELETE FROM intake", "UPDATE intake SET copies = 3", "UPDATE intake SET received = 99",
        ]
    )
    func repaired(damage: String) throws {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        _ = store.store(Batch(stream: .named("a"), logs: logs(0..<10)))
        store.close()
        try tamper(directory, damage)
        let lines = Awaited<[UInt8]>()
        let journal = Journal(level: .info, format: .json) { lines.put($0) }
        let again = try DurableQueue(.small(directory.path), journal: journal)
        #expect(String(decoding: lines.take(1)[0], as: UTF8.self).contains("tally"))
        again.close()
        #expect(try Inspection.run(directory.path).findings.isEmpty)
    }

    @Test("A salvage keeps the tally, and adds logs that the ledgers did not know")
    func salvaged() throws {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        let batch = Batch(stream: .named("a"), logs: logs(0..<10))
        let tally = IntakeTally(received: 25, filtered: 15, routed: 10, copies: 10)
        let answer = Awaited<AppendOutcome>()
        store.append([batch], identity: nil, sender: nil, tally: tally) { answer.put($0) }
        _ = answer.take(1)
        store.close()
        try tamper(directory, "UPDATE ledger SET accepted = 4, queued = 4, delivered = -1")
        let again = try DurableQueue(.small(directory.path), journal: .silent)
        #expect(again.status.salvages == 1)
        let intake = again.status.intake
        #expect(intake.isClosed && intake.filtered == 15)
        #expect(intake.copies == Int(again.status.ledger.accepted))
        again.close()
        #expect(try Inspection.run(directory.path).findings.isEmpty)
    }
}
