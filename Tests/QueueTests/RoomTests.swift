import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// Packets that are refused while dead letters have no room.
@Suite(.timeLimit(.minutes(1))) struct RoomTests {
    let directory = TemporaryDirectory()
    private let now = UInt32(WallTime.now.seconds)
    private let time = Locked(WallTime.now)

    private func open(bytesMax: Int = 40_000) throws -> DurableQueue {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.bytesMax = bytesMax
        configuration.ageMax = .seconds(60)
        configuration.destinations["app"]?.packet.logs = 10
        let clock = QueueClock { [time] in time.withLock { $0 } }
        return try DurableQueue(configuration, journal: .silent, clock: clock)
    }

    /// Alike, they compress well together; as letters they would take several times the bound.
    private func fill(_ store: DurableQueue, _ numbers: Range<Int>, _ stream: String = "bad") {
        for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 10) {
            let logs = timed(start..<start + 10, at: now, filling: 200)
            #expect(store.store(Batch(stream: .named(stream), logs: logs)) == .stored)
        }
    }

    /// Sends until nothing comes any more.
    private func exhaust(_ sls: FakeSLS) throws {
        var idle = 0
        while idle < 3 { idle = try sls.step() ? 0 : idle + 1 }
    }

    @Test("Few of them wait, the bound holds, good logs go on, and nothing is lost")
    func bounded() throws {
        let store = try open()
        defer { store.close() }
        fill(store, 0..<500)
        fill(store, 1000..<1100, "good")
        let sls = FakeSLS(store) { (try? number($0) < 1000) ?? true }
        while try sls.step() {
            #expect(store.status.isolationsWaiting <= 16)
            #expect(store.status.bytes <= 45_000)
        }
        try exhaust(sls)
        #expect(try sls.numbers.sorted() == Array(1000..<1100))
        #expect(store.status.isolationsWaiting == 16)
        var purged: [Int] = []
        while store.status.ledger.queued > 0 {
            purged += try store.deadNumbers()
            _ = store.purging(.matching(.init()))
            try exhaust(sls)
            #expect(store.status.bytes <= 45_000)
        }
        purged += try store.deadNumbers()
        #expect(purged.sorted() == Array(0..<500))
        #expect(store.status.isolationsWaiting == 0 && store.status.ledger.isClosed)
    }

    @Test("They grow too old as all others do")
    func expire() throws {
        let store = try open()
        defer { store.close() }
        fill(store, 0..<500)
        let sls = FakeSLS(store) { _ in true }
        try exhaust(sls)
        #expect(store.status.isolationsWaiting > 0)
        let waiting = store.status.ledger.queued
        time.withLock { $0 = WallTime(seconds: $0.seconds + 61) }
        // While they go in steps others may be handed over, and are refused once more.
        try sls.run()
        let ledger = store.status.ledger
        #expect(store.status.isolationsWaiting == 0 && ledger.isClosed)
        #expect(ledger.expired > waiting / 2 && ledger.expired + ledger.dead == 500)
    }

    @Test("After a restart those that were alone do not go before all others")
    func restart() throws {
        let first = try open()
        fill(first, 0..<500)
        try exhaust(FakeSLS(first) { _ in true })
        first.close()
        let store = try open(bytesMax: 80_000)
        defer { store.close() }
        fill(store, 1000..<1100, "good")
        store.flush("app")
        let packets = Consumer(store).packets(20, of: .named("app-log"))
        let alone = packets.count { $0.logCount == 1 }
        #expect(alone <= 11)
    }
}
