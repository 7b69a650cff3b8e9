import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct ClockTests {
    let directory = TemporaryDirectory()
    private let clock = SteppedClock()

    private func open(at seconds: Int64) throws -> DurableQueue {
        clock.set(seconds)
        return try directory.queue(clock: clock.queueClock) { $0.ageMax = .seconds(60) }
    }

    @Test(
        "Stamps of a clock that was wrong in an earlier life count from this start",
        arguments: [100, 4_000_000_000]
    )
    func earlierLife(wrong: Int64) throws {
        let before = try open(at: wrong)
        _ = before.store(Batch(logs(0..<10)))
        before.close()
        let store = try open(at: 1_800_000_000)
        // Shown by the housekeeping that looks for what is too old.
        store.wait { $0.oldest != nil }
        #expect(store.status.ledger.expired == 0)
        #expect(store.status.oldest == WallTime(seconds: 1_800_000_000))
        clock.wait(70)
        store.wait { $0.ledger.expired == 10 }
    }

    @Test(
        "A step of the clock expires nothing and holds nothing back",
        arguments: [
            (100, 1_800_000_000), (1_800_000_000, 1_900_000_000), (1_900_000_000, 1_800_000_000),
            // Almost as far as Linux lets a clock be set.
            (1_800_000_000, 8_270_000_000), (100, 8_270_000_000),
        ]
    )
    func steps(from: Int64, to: Int64) throws {
        let store = try open(at: from)
        _ = store.store(Batch(logs(0..<10)))
        clock.step(to: to)
        store.wait { $0.oldest == WallTime(seconds: to) }
        #expect(store.status.ledger.expired == 0)
        clock.wait(70)
        store.wait { $0.ledger.expired == 10 }
    }

    @Test("Steps to and fro for centuries expire nothing, in a new life either")
    func centuries() throws {
        do {
            let store = try open(at: 1_800_000_000)
            defer { store.close() }
            for (number, second) in [8_270_000_000, 1_800_000_000, 8_270_000_000, 100].enumerated()
            {
                _ = store.store(Batch(logs([number])))
                clock.step(to: Int64(second))
                store.wait { $0.oldest == WallTime(seconds: Int64(second)) }
            }
            #expect(store.status.ledger.expired == 0)
        }
        let store = try open(at: 8_270_000_000)
        store.wait { $0.oldest != nil }
        #expect(store.status.ledger.expired == 0 && store.status.ledger.queued == 4)
    }

    @Test(
        "A step is remembered when the queue is read anew, and in the next life",
        arguments: [false, true]
    )
    func remembered(isRestart: Bool) throws {
        var store = try open(at: 1_800_000_000)
        defer { store.close() }
        _ = store.store(Batch(logs(0..<10)))
        clock.step(to: 1_801_000_000)
        store.wait { $0.oldest == WallTime(seconds: 1_801_000_000) }
        if isRestart {
            store.close()
            store = try open(at: 1_801_000_000)
        } else {
            var rules = DestinationRules()
            rules.logstore = "x"
            store.apply(["app": rules])
            store.wait { status in
                status.destinations["app"]?.outlets["x"] != nil || status.ledger.expired > 0
            }
        }
        // Shown by the housekeeping that looks for what is too old.
        store.wait { $0.oldest != nil || $0.ledger.expired > 0 }
        #expect(store.status.ledger.expired == 0)
        // What came since has stamps of the right time.
        clock.wait(40)
        _ = store.store(Batch(stream: .named("b"), logs: logs(10..<15)))
        clock.wait(30)
        store.wait { $0.ledger.expired > 0 }
        #expect(store.status.ledger.expired == 10)
    }

    @Test(
        "However much is too old, it goes in steps of a bounded time, without waiting between them"
    )
    func keepsUp() throws {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.durability = .normal
        configuration.tuning.housekeeping = .seconds(3600)
        configuration.ageMax = .seconds(60)
        let handle = try QueueHandle(configuration)
        let owner = try QueueOwner(configuration, handle, clock: clock.queueClock, .silent)
        let store = try #require(owner.store)
        let keys = (0..<500).map { StreamKey.named("\($0)") }
        for round in 0..<30 {
            let batches = keys.map { Batch(stream: $0, logs: logs([round])) }
            try store.take(batches)
        }
        clock.wait(61)
        let young = Batch(stream: keys[0], logs: logs([30]))
        try store.take([young])

        // Without time nothing is done, and nothing is forgotten.
        store.expiry.look()
        #expect(
            try store.expiry.expire(until: Moment(nanoseconds: 0)).isEmpty
                && store.expiry.isUnderWay
        )

        var longest = Duration.zero
        var steps = 0
        repeat {
            let start = ProcessorTime.ofThread
            owner.doHousekeeping(isQuiet: false)
            steps += 1
            longest = max(longest, ProcessorTime.ofThread - start)
        } while store.expiry.isUnderWay
        let ledger = store.destinations.named("app").ledger
        #expect(ledger.expired == 15_000 && ledger.queued == 1 && ledger.isClosed)
        #expect(store.weight.rows == 1 && store.imbalances().isEmpty)
        // A fast machine needs few steps; one step would have no bound.
        #expect(steps > 1)
        // Much more than a step may take, since processors differ, and a sanitizer is slow.
        #expect(longest < .milliseconds(500).calibrated())
        owner.doHousekeeping(isQuiet: true)
        #expect(store.weight.rows == 1)
    }
}
