import Logs
import SQLite
import System
import TestSupport
import Testing

@testable import Queue
@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct CountTests {
    let directory = TemporaryDirectory()
    private var database: String { directory.path + "/queue.db" }

    @Test("A repeated request adds nothing")
    func repeated() throws {
        let store = try directory.queue()
        for _ in 0..<2 { _ = store.store([Batch(logs(0..<5))], identity: .of(1)) }
        #expect(store.status.intake == IntakeTally(received: 5, routed: 5, copies: 5))
    }

    @Test("A repeated request without batches adds nothing, also after a restart")
    func repeatedWithoutBatches() throws {
        let identity = BatchIdentity.of(1)
        for turn in 0..<2 {
            let store = try directory.queue()
            defer { store.close() }
            let tally = IntakeTally(received: 5, filtered: 5)
            let outcome = store.store([], identity: identity, tally: tally)
            #expect(outcome == (turn == 0 ? .stored : identity.repeated))
            #expect(store.status.intake == tally)
        }
    }

    @Test("Requests without batches are counted within a second, and survive a restart")
    func withoutBatches() throws {
        let store = try directory.queue()
        for _ in 0..<100 { store.count(IntakeTally(received: 3, filtered: 2, dropped: 1)) }
        store.wait { $0.intake.received == 300 }
        store.count(IntakeTally(received: 1, dropped: 1))
        store.close()
        let again = try directory.queue()
        #expect(again.status.intake == IntakeTally(received: 301, filtered: 200, dropped: 101))
    }

    @Test("Logs of all kinds count as copies, and replayed letters count once")
    func kinds() throws {
        let store = try directory.queue()
        var batch = Batch(logs(0..<5))
        batch.dead = [Batch.Dead(logs: logs(5..<8), reason: .tooLarge)]
        batch.dropped = 2
        #expect(store.store(batch) == .stored)
        #expect(store.status.intake == IntakeTally(received: 10, routed: 10, copies: 10))
        _ = store.replaying(.matching(.init()))
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
        let store = try directory.queue()
        _ = store.store(Batch(logs(0..<10)))
        store.close()
        try execute(in: database, damage)
        let lines = Awaited<String>()
        let again = try DurableQueue(.small(directory.path), journal: lines.journal())
        #expect(lines.take(1)[0].contains("tally"))
        again.close()
        #expect(try Inspection.run(directory.path).findings.isEmpty)
    }

    @Test("A salvage keeps the tally, and adds logs that the ledgers did not know")
    func salvaged() throws {
        let store = try directory.queue()
        let tally = IntakeTally(received: 25, filtered: 15, routed: 10, copies: 10)
        _ = store.store([Batch(logs(0..<10))], tally: tally)
        store.close()
        try execute(in: database, "UPDATE ledger SET accepted = 4, queued = 4, delivered = -1")
        let again = try directory.queue()
        #expect(again.status.salvages == 1)
        let intake = again.status.intake
        #expect(intake.isClosed && intake.filtered == 15)
        #expect(intake.copies == Int(again.status.ledger.accepted))
        again.close()
        #expect(try Inspection.run(directory.path).findings.isEmpty)
    }

    private let now = UInt32(WallTime.now.seconds)

    private func volumes(_ store: DurableQueue) -> Volumes {
        store.status.destinations["app"]?.volumes ?? Volumes()
    }

    @Test("Bytes are counted where logs come, are delivered, die and are thrown away")
    func counts() throws {
        let store = try directory.queue()
        let alive = timed(0..<10, at: now)
        let doomed = timed(10..<12, at: now)
        var batch = Batch(alive)
        batch.dead = [.init(logs: doomed, reason: .tooLarge)]
        batch.dropped = 3
        #expect(store.store(batch) == .stored)
        var expected = Volumes()
        expected.accepted = alive.bytes.count + doomed.bytes.count
        expected.dead = doomed.bytes.count
        expected.died = 2
        #expect(volumes(store) == expected)

        // Replayed is not accepted a second time.
        #expect(store.replaying(.matching(.init())).changed == 2)
        #expect(volumes(store) == expected)

        let consumer = Consumer(store)
        let packet = consumer.sealed()
        store.end(packet, .stored)
        store.settle()
        expected.delivered = packet.rawBytes
        #expect(volumes(store) == expected)
        #expect(expected.delivered == expected.accepted)
    }

    @Test("Purged letters and discarded packets are bytes thrown away")
    func discards() throws {
        let store = try directory.queue()
        let alive = timed(0..<10, at: now)
        let doomed = timed(10..<12, at: now)
        #expect(store.store(Batch(alive), .dead(doomed)) == .stored)
        #expect(store.purging(.matching(.init())).changed == 2)
        #expect(volumes(store).discarded == doomed.bytes.count)
        let consumer = Consumer(store)
        let packet = consumer.sealed()
        store.end(packet, .discard(.tooLarge))
        store.settle()
        store.wait { $0.destinations["app"]?.ledger.queued == 0 }
        #expect(volumes(store).discarded == volumes(store).accepted)
    }

    @Test("What is too old is bytes that expired")
    func expires() throws {
        let clock = ManualClock()
        var configuration = QueueConfiguration.small(directory.path)
        configuration.ageMax = .seconds(60)
        let handle = try QueueHandle(configuration)
        let owner = try QueueOwner(configuration, handle, clock: clock.queueClock, .silent)
        let store = try #require(owner.store)
        let alive = logs(0..<10)
        try store.take([Batch(alive)])
        clock.advance(.seconds(61))
        store.expiry.look()
        #expect(try store.expiry.expire(until: .now + .seconds(10)) == ["app": 10])
        #expect(store.destinations.named("app").volumes.expired == alive.bytes.count)
    }

    @Test(
        "A ledger that stops agreeing with the queue is told of once, with all its numbers, and shown"
    )
    func imbalance() throws {
        let lines = Awaited<String>()
        var configuration = QueueConfiguration.small(directory.path)
        configuration.tuning.housekeeping = .zero
        let handle = try QueueHandle(configuration)
        let owner = try QueueOwner(configuration, handle, lines.journal(.error))
        let store = try #require(owner.store)
        try store.take([Batch(logs(0..<10))])
        owner.doHousekeeping(isQuiet: true)
        #expect(lines.count == 0 && handle.status.withLock { $0.ledgerImbalances } == 0)

        let changes: [(change: (inout Ledger) -> Void, imbalance: Int)] = [
            ({ $0.accepted += 1 }, 1),
            ({ $0.discarded += 1 }, 0),
            ({ ($0.accepted, $0.discarded) = ($0.accepted - 1, $0.discarded - 1) }, 0),
            // It closes, but it does not say what is here.
            ({ ($0.queued, $0.dead) = ($0.queued - 1, $0.dead + 1) }, 2),
        ]
        var times = 0
        for (change, imbalance) in changes {
            store.destinations.named("app").change(change)
            for _ in 0..<3 { owner.doHousekeeping(isQuiet: true) }
            if imbalance > 0 { times += 1 }
            let status = handle.status.withLock { $0 }
            #expect(status.destinations["app"]?.imbalance == imbalance)
            #expect(status.ledgerImbalances == times)
        }
        #expect(lines.count == 2)
        let said = lines.take(2)[1]
        let numbers = [
            "\"accepted\":10", "\"delivered\":0", "\"queued\":9", "\"dead\":1",
            "\"expired\":0", "\"discarded\":0", "\"found_queued\":10", "\"found_dead\":0",
        ]
        for number in numbers { #expect(said.contains(number)) }
    }
}
