import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(1))) struct BalanceTests {
    let directory = TemporaryDirectory()

    @Test(
        "A ledger that stops agreeing with the queue is told of once, with all its numbers, and shown"
    )
    func imbalance() throws {
        let lines = Awaited<[UInt8]>()
        let journal = Journal(level: .error, format: .json) { lines.put($0) }
        var configuration = QueueConfiguration.small(directory.path)
        configuration.tuning.housekeeping = .zero
        let door = try QueueHandle(configuration)
        let owner = try QueueOwner(configuration, door, .started(), journal)
        let store = try #require(owner.store)
        #expect(try store.intake.stage([Batch(stream: .named("a"), logs: logs(0..<10))]) == nil)
        try store.intake.writeStaged()
        try store.commit()
        owner.doHousekeeping(isQuiet: true)
        #expect(lines.count == 0 && door.status.withLock { $0.ledgerImbalances } == 0)

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
            let status = door.status.withLock { $0 }
            #expect(status.destinations["app"]?.imbalance == imbalance)
            #expect(status.ledgerImbalances == times)
        }
        #expect(lines.count == 2)
        let said = String(decoding: lines.take(2)[1], as: UTF8.self)
        let numbers = [
            "\"accepted\":10", "\"delivered\":0", "\"queued\":9", "\"dead\":1",
            "\"expired\":0", "\"discarded\":0", "\"found_queued\":10", "\"found_dead\":0",
        ]
        for number in numbers { #expect(said.contains(number)) }
    }
}
