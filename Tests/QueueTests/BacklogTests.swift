import Glibc
import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// The backlog of an outage, made small; `sluice-bench backlog` measures a large one.
@Suite(.timeLimit(.minutes(2))) struct BacklogTests {
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
        let first = try DurableQueue(configuration(), journal: .silent)
        fill(first)
        let before = first.status
        #expect(before.rows == rounds * streams)
        first.close()

        let memory = try residentBytes()
        let began = ProcessorTime.ofProcess
        let store = try DurableQueue(configuration(), journal: .silent)
        defer { store.close() }
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
        let text = String(decoding: line.map(UInt8.init), as: UTF8.self)
        let pages = try #require(Int(text.split(separator: " ")[1]))
        return pages * sysconf(CInt(_SC_PAGESIZE))
    }
}
