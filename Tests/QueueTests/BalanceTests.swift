import Logs
import System
import Testing

@testable import Queue

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
        let door = try QueueDoor(configuration)
        let owner = try QueueOwner(configuration, door, .started(), journal)
        let store = try #require(owner.store)
        #expect(try store.stage([Batch(stream: .named("a"), logs: logs(0..<10))]) == nil)
        try store.writeStaged()
        try store.commit()
        owner.keepHouse(isQuiet: true)
        #expect(lines.count == 0 && door.status.withLock { $0.ledgerImbalances } == 0)

        let changes: [(Int, (inout Ledger) -> Void)] = [
            (1, { $0.accepted += 1 }),
            (2, { $0.discarded += 1 }),
            // Closed, but not what is here.
            (2, { ($0.accepted, $0.discarded) = ($0.accepted - 1, $0.discarded - 1) }),
            (3, { ($0.queued, $0.dead) = ($0.queued - 1, $0.dead + 1) }),
        ]
        var expected = 0
        for (_, change) in changes {
            store.destination("app").change(change)
            let isWrong = !store.imbalances().isEmpty
            if isWrong { expected += 1 }
            for _ in 0..<3 { owner.keepHouse(isQuiet: true) }
            let status = door.status.withLock { $0 }
            #expect(status.destinations["app"]?.isBalanced == !isWrong)
            #expect(status.ledgerImbalances == expected)
        }
        #expect(expected == 2 && lines.count == 2)
        let said = String(decoding: lines.take(2)[1], as: UTF8.self)
        let numbers = [
            "\"accepted\":10", "\"delivered\":0", "\"queued\":9", "\"dead\":1",
            "\"expired\":0", "\"discarded\":0", "\"found_queued\":10", "\"found_dead\":0",
        ]
        for number in numbers { #expect(said.contains(number)) }
    }
}
