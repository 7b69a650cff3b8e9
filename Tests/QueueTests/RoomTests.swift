import Glibc
import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// Packets that are refused while dead letters have no room.
@Suite(.timeLimit(.minutes(10))) struct RoomTests {
    let directory = TemporaryDirectory()
    private let now = UInt32(WallTime.now.seconds)
    private let clock = ManualClock(at: .now)

    private func open(bytesMax: Int = 40_000) throws -> DurableQueue {
        try directory.queue(clock: clock.queueClock) {
            $0.bytesMax = bytesMax
            $0.ageMax = .seconds(60)
            $0.destinations["app"]?.packet.logs = 10
        }
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
        fill(store, 0..<500)
        let sls = FakeSLS(store) { _ in true }
        try exhaust(sls)
        #expect(store.status.isolationsWaiting > 0)
        let waiting = store.status.ledger.queued
        clock.advance(.seconds(61))
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
        fill(store, 1000..<1100, "good")
        store.flush("app")
        let packets = Consumer(store).packets(20, of: .named("app-log"))
        let alone = packets.count { $0.logCount == 1 }
        #expect(alone <= 11)
    }
}

/// The backlog of an outage, made small; `sluice-bench backlog` measures a large one.
@Suite(.timeLimit(.minutes(10))) struct BacklogTests {
    let directory = TemporaryDirectory()
    private let streams = 2000
    private let rounds = 12

    private func configuration() -> QueueConfiguration {
        var configuration = QueueConfiguration.small(
            directory.path,
            packets: PacketLimits(rawBytes: 1 << 20, logs: 4096, age: .milliseconds(1))
        )
        configuration.durability = .normal
        return configuration
    }

    /// One small row in each stream, again and again: most rows for their bytes, and farthest
    /// apart.
    private func fill(_ store: DurableQueue) {
        let answers = Awaited<AppendOutcome>()
        for round in 0..<rounds {
            for number in 0..<streams {
                let log = logs([round * streams + number], filling: 100)
                store.append([Batch(stream: .named("\(number)"), logs: log)]) { answers.put($0) }
            }
            #expect(answers.take(streams).allSatisfy { $0 == .stored })
        }
    }

    @Test("A queue with many rows opens in little time and memory, and drains while more is stored")
    func manyRows() throws {
        let first = try directory.open(configuration())
        fill(first)
        let before = first.status
        #expect(before.rows == rounds * streams)
        first.close()

        let memory = try residentBytes()
        let began = ProcessorTime.ofProcess
        let store = try directory.open(configuration())
        // 125 µs a row, where a release build takes less than one.
        #expect(ProcessorTime.ofProcess - began < .seconds(3).calibrated())
        #expect(try residentBytes() - memory < 32 << 20)
        #expect(store.status.bytes == before.bytes && store.status.rows == before.rows)
        #expect(store.status.ledger == before.ledger)

        let consumer = Consumer(store)
        store.request(64, for: .named("app-log"))
        var last: [String: Int] = [:]
        var found = 0
        var oldest = WallTime(seconds: 0)
        while found < rounds * streams {
            let packet = consumer.next()[0]
            let numbers = try store.contents(of: packet)
            #expect(numbers == numbers.sorted())
            #expect(numbers[0] > last.updateValue(numbers.last ?? 0, forKey: packet.packID) ?? -1)
            // Streams leave in the order of their oldest logs.
            #expect(packet.oldest >= oldest)
            oldest = packet.oldest
            found += numbers.count
            store.end(packet, .stored)
            store.request(1, for: .named("app-log"))
            guard found % 100 == 0 else { continue }
            let log = logs([found], filling: 10)
            let extra = Batch(stream: .named("new", destination: "other"), logs: log)
            #expect(store.store(extra) == .stored)
        }
        store.wait { $0.destinations["app"]?.ledger.queued == 0 }
        #expect(store.status.destinations["app"]?.ledger.delivered == Int64(rounds * streams))
    }

    /// Not through `readFile`: files in /proc have no size.
    private func residentBytes() throws -> Int {
        let file = try #require(fopen("/proc/self/statm", "r"))
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 200)
        _ = try #require(fgets(&line, 200, file))
        let text = String(decoding: line.map(UInt8.init(truncatingIfNeeded:)), as: UTF8.self)
        let pages = try #require(Int(text.split(separator: " ")[1]))
        return pages * sysconf(CInt(_SC_PAGESIZE))
    }
}
