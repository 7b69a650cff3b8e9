import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(1))) struct ExpiryTests {
    let directory = TemporaryDirectory()
    private let time = Locked(WallTime(seconds: 1_800_000_000))

    @Test(
        "However much is too old, it goes in steps of a bounded time, without waiting between them"
    )
    func keepsUp() throws {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.durability = .normal
        configuration.tuning.housekeeping = .seconds(3600)
        configuration.ageMax = .seconds(60)
        let door = try QueueHandle(configuration)
        let clock = QueueClock { [time] in time.withLock { $0 } }
        let owner = try QueueOwner(configuration, door, clock, .silent)
        let store = try #require(owner.store)
        let keys = (0..<500).map { StreamKey.named("\($0)") }
        for round in 0..<30 {
            let batches = keys.map { Batch(stream: $0, logs: logs([round])) }
            #expect(try store.intake.stage(batches) == nil)
            try store.intake.writeStaged()
            try store.commit()
        }
        time.withLock { $0 = WallTime(seconds: $0.seconds + 61) }
        let young = Batch(stream: keys[0], logs: logs([30]))
        #expect(try store.intake.stage([young]) == nil)
        try store.intake.writeStaged()
        try store.commit()

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
