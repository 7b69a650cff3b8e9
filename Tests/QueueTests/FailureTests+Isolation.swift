import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

extension FailureTests {
    private func isolatingStore() throws -> DurableQueue {
        DiskFault.set(.none)
        return try DurableQueue(.small(directory.path + "/faulty"), journal: .silent)
    }

    private func rollFault(_ generator: inout SeededGenerator) {
        let faults: [DiskFault] = [.full, .writeError, .syncError]
        let isFaulty = Int.random(in: 0..<4, using: &generator) == 0
        DiskFault.set(isFaulty ? faults[Int.random(in: 0..<3, using: &generator)] : .none)
    }

    @Test("Faults while packets are taken apart lose no log, and none dies or leaves twice")
    func faultsWhileIsolating() throws {
        let store = try isolatingStore()
        defer { store.close() }
        var generator = SeededGenerator(seed: 5)
        let now = UInt32(WallTime.now.seconds)
        for start in stride(from: 0, to: 300, by: 30) {
            let batch = Batch(stream: .named("a"), logs: timed(start..<start + 30, at: now))
            #expect(store.store(batch) == .stored)
        }
        let guilty: Set<Int> = [0, 77, 78, 299]
        let consumer = Consumer(store)
        store.flush("app")
        store.request(4000, for: "app")
        var delivered: [Int] = []
        var failures = 0
        while store.status.ledger.queued > 0 {
            rollFault(&generator)
            store.settle()
            guard consumer.waiting > 0 else {
                DiskFault.set(.none)
                store.wait { $0.admission == .open }
                continue
            }
            let packet = consumer.next()[0]
            var blocks: [StoredBlock]?
            while blocks == nil {
                blocks = try? store.blocks(of: packet)
                if blocks == nil {
                    DiskFault.set(.none)
                    store.wait { $0.admission == .open }
                }
            }
            let numbers = try entries(blocks ?? []).map(number)
            rollFault(&generator)
            if guilty.isDisjoint(with: numbers) {
                delivered += numbers
                store.end(packet, .stored)
            } else {
                store.end(packet, .isolate(FakeSLS.reason))
            }
            failures = store.status.failures
        }
        DiskFault.set(.none)
        store.wait { $0.admission == .open }
        #expect(failures > 3)
        #expect(delivered.sorted() == (0..<300).filter { !guilty.contains($0) })
        #expect(try store.deadNumbers().sorted() == guilty.sorted())
        #expect(store.status.ledger.isClosed && store.status.repairedLogs == 0)
        #expect(store.status.salvages == 0 && store.status.rows == 0)
    }

    @Test(
        "A change of dead letters that meets a fault is refused, and every letter is somewhere once"
    )
    func faultsWhileReplaying() throws {
        let store = try isolatingStore()
        defer { store.close() }
        var generator = SeededGenerator(seed: 6)
        let dead = Batch.Dead(
            logs: timed(0..<3000, at: UInt32(WallTime.now.seconds)),
            reason: FakeSLS.reason
        )
        _ = store.store(Batch(stream: .named("a"), logs: EncodedLogs(), dead: [dead]))
        var refusals = 0
        for round in 0..<40 {
            let ids = try store.letters().map(\.id).shuffled(using: &generator).prefix(50)
            rollFault(&generator)
            let selection = DeadLetterSelection.ids(Array(ids))
            let change =
                round.isMultiple(of: 2) ? store.replaying(selection) : store.purging(selection)
            if change.end != .complete { refusals += 1 }
            DiskFault.set(.none)
            store.wait { $0.admission == .open }
            let ledger = store.status.ledger
            #expect(ledger.dead + ledger.queued + ledger.discarded == 3000 && ledger.isClosed)
            let left = Set(try store.deadNumbers())
            #expect(left.count == ledger.dead)
        }
        #expect(refusals > 3 && refusals < 40)
        #expect(store.status.repairedLogs == 0)
        let sls = FakeSLS(store) { _ in false }
        try sls.run()
        let replayed = try sls.numbers
        #expect(Set(replayed).isDisjoint(with: try store.deadNumbers()))
        #expect(Set(replayed).count == replayed.count)
        #expect(replayed.count == store.status.ledger.delivered)
    }
}
