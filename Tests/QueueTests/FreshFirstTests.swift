import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct FreshFirstTests {
    let directory = TemporaryDirectory()
    let clock = ManualClock()
    let outlet = Outlet.named("app-log")

    private func rules(_ percent: Int) -> [String: DestinationRules] {
        let limits = PacketLimits(rawBytes: 1 << 20, logs: 10, age: .seconds(1))
        var rules = DestinationRules(packet: limits)
        rules.freshPercent = percent
        return ["app": rules]
    }

    private func open(_ percent: Int, in path: String? = nil) throws -> DurableQueue {
        var configuration = QueueConfiguration.small(path ?? directory.path)
        configuration.destinations = rules(percent)
        return try directory.open(configuration, clock: clock.queueClock)
    }

    private func fill(_ store: DurableQueue, _ numbers: Range<Int>, stream: String = "a") {
        for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 10) {
            let end = min(start + 10, numbers.upperBound)
            #expect(store.store(Batch(stream: .named(stream), logs: logs(start..<end))) == .stored)
        }
    }

    /// An outage has left so many logs, and delivery begins again with the first packet.
    private func begin(_ store: DurableQueue, _ consumer: Consumer, backlog: Int) throws -> [Int] {
        fill(store, 0..<backlog)
        clock.advance(.seconds(100))
        return try consumer.packets(1, of: outlet).flatMap(store.contents)
    }

    private func records() throws -> Int64 {
        let connection = try Connection(directory.path + "/queue.db", .readOnly)
        return try connection.integer("SELECT count(*) FROM streams")
    }

    @Test(
        "While a backlog is delivered fresh logs get their share, each in its order",
        arguments: [(10, 2), (20, 4), (50, 10), (90, 18)]
    )
    func share(percent: Int, of20: Int) throws {
        let store = try open(percent)
        let consumer = Consumer(store)
        #expect(try begin(store, consumer, backlog: 300) == Array(0..<10))
        fill(store, 300..<500)
        let first = consumer.packets(20, of: outlet)
        let contents = try first.map(store.contents)
        #expect(contents.count { $0[0] >= 300 } == of20)
        let rest = consumer.packets(29, of: outlet)
        let all = try contents + rest.map(store.contents)
        #expect(all.filter { $0[0] < 300 }.flatMap(\.self) == Array(10..<300))
        #expect(all.filter { $0[0] >= 300 }.flatMap(\.self) == Array(300..<500))
        for packet in first + rest { store.end(packet, .stored) }
        store.settle()
        #expect(store.status.ledger.delivered == 490 && store.status.ledger.queued == 10)
    }

    @Test("Without a share the order is strict, and no stream is divided")
    func strict() throws {
        let store = try open(0)
        let consumer = Consumer(store)
        _ = try begin(store, consumer, backlog: 100)
        fill(store, 100..<200)
        #expect(store.status.streams == 1)
        let numbers = try consumer.packets(19, of: outlet).flatMap(store.contents)
        #expect(numbers == Array(10..<200))
    }

    @Test("Of many streams those without a backlog get the share, in turn")
    func manyStreams() throws {
        let store = try open(20)
        let consumer = Consumer(store)
        for stream in 0..<20 {
            fill(store, stream * 100..<stream * 100 + 50, stream: "\(stream)")
        }
        clock.advance(.seconds(100))
        _ = consumer.packets(1, of: outlet)
        for stream in 20..<40 {
            fill(store, stream * 100..<stream * 100 + 20, stream: "\(stream)")
        }
        let topics = consumer.packets(50, of: outlet).compactMap { Int($0.stream.trailer.topic) }
        let fresh = topics.filter { $0 >= 20 }
        #expect(fresh.count == 10 && Set(fresh).count == 10)
        #expect(topics.count { $0 < 20 } == 40)
    }

    @Test("A stream of less than a packet leaves with its fresh logs, and is not divided")
    func small() throws {
        let store = try open(20)
        let consumer = Consumer(store)
        _ = try begin(store, consumer, backlog: 15)
        fill(store, 15..<18)
        #expect(store.status.streams == 1)
        #expect(try consumer.packets(1, of: outlet).map(store.contents) == [Array(10..<18)])
    }

    @Test("No generation begins while nothing is sent, however long the outage lasts")
    func outage() throws {
        let store = try open(20)
        for round in 0..<5 {
            fill(store, round * 20..<round * 20 + 20)
            clock.advance(.seconds(100))
        }
        #expect(store.status.streams == 1)
    }

    @Test("When fresh logs exceed their share, the newest go first and the backlog keeps its order")
    func generations() throws {
        let store = try open(20)
        let consumer = Consumer(store)
        var left = try begin(store, consumer, backlog: 100)
        for round in 1...4 {
            fill(store, round * 100..<round * 100 + 100)
            let numbers = try consumer.packets(5, of: outlet).flatMap(store.contents)
            let fresh = numbers.filter { $0 >= round * 100 }
            #expect(fresh == Array(round * 100..<round * 100 + 10), "round \(round)")
            clock.advance(.seconds(100))
            // The share was too small for all of it, and now it is a backlog too.
            left += try numbers + consumer.packets(1, of: outlet).flatMap(store.contents)
        }
        #expect(store.status.streams == 5)
        // Nothing is fresh any more: what is left of each goes before what came after it.
        let rest = try consumer.packets(25, of: outlet).flatMap(store.contents)
        #expect(rest == rest.sorted())
        #expect((left + rest).sorted() == Array(0..<500))
    }

    @Test("A stream with many generations takes turns with other streams as one")
    func oneTurn() throws {
        let store = try open(20)
        let consumer = Consumer(store)
        _ = try begin(store, consumer, backlog: 100)
        for round in 1...4 {
            fill(store, round * 100..<round * 100 + 100)
            _ = consumer.packets(5, of: outlet)
            clock.advance(.seconds(100))
            _ = consumer.packets(1, of: outlet)
        }
        #expect(store.status.streams == 5)
        fill(store, 1000..<1100, stream: "b")
        clock.advance(.seconds(100))
        let topics = consumer.packets(20, of: outlet).map(\.stream.trailer.topic)
        #expect((9...10).contains(topics.count { $0 == "b" }))
        // What stood aside is not forgotten.
        _ = consumer.packets(5 * 10 + 10 - 1 - 24 - 20, of: outlet)
        #expect(store.status.rows == 60)
    }

    @Test(
        "A crash during a backlog changes neither the stored logs nor the share of fresh ones",
        arguments: 0..<6
    )
    func crash(after packets: Int) throws {
        let first = try open(50)
        let before = Consumer(first)
        _ = try begin(first, before, backlog: 100)
        fill(first, 100..<200)
        let sent = before.packets(packets, of: outlet)
        let copy = directory.copy()
        let status = first.status
        first.close()
        let store = try open(50, in: copy.path)
        #expect(store.status.ledger == status.ledger && store.status.bytes == status.bytes)
        #expect(store.status.streams == 2 && store.status.repairedLogs == 0)
        let consumer = Consumer(store)
        let again = consumer.packets(packets + 1, of: outlet)
        #expect(again.dropFirst().map(\.packID) == sent.map(\.packID))
        let next = try consumer.packets(4, of: outlet).map(store.contents)
        #expect(next.count { $0[0] >= 100 } == 2)
        let rest = consumer.packets(15 - packets, of: outlet)
        let all = try (again + rest).flatMap(store.contents) + next.flatMap(\.self)
        #expect(all.sorted() == Array(0..<200))
    }

    @Test("Empty generations are removed: a key's last logs leave one stream and no bytes")
    func forgotten() throws {
        let store = try open(20)
        let consumer = Consumer(store)
        fill(store, 0..<100)
        clock.advance(.seconds(100))
        var packets = consumer.packets(1, of: outlet)
        fill(store, 100..<200)
        #expect(store.status.streams == 2)
        packets += consumer.packets(19, of: outlet)
        // The newest is empty first, and waits for the one before it.
        for packet in packets.reversed() { store.end(packet, .stored) }
        store.settle()
        #expect(store.status.streams == 0 && store.status.bytes == 0 && store.status.rows == 0)
        #expect(try records() == 1)
        fill(store, 200..<210)
        #expect(try records() == 1)
        #expect(try consumer.packets(1, of: outlet).map(store.contents) == [Array(200..<210)])
    }

    @Test("The share can be changed, and taken away, while there is a backlog")
    func changed() throws {
        let store = try open(50)
        let consumer = Consumer(store)
        _ = try begin(store, consumer, backlog: 100)
        fill(store, 100..<200)
        let half = try consumer.packets(4, of: outlet).map(store.contents)
        #expect(half.count { $0[0] >= 100 } == 2)
        store.apply(rules(0))
        let rest = try consumer.packets(15, of: outlet).flatMap(store.contents)
        #expect(rest == Array(30..<100) + Array(120..<200))
    }

    @Test("Logs expire and make room from the oldest generation on")
    func dropped() throws {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.destinations = rules(20)
        configuration.ageMax = .seconds(150)
        let store = try directory.open(configuration, clock: clock.queueClock)
        let consumer = Consumer(store)
        _ = try begin(store, consumer, backlog: 100)
        fill(store, 100..<200)
        clock.advance(.seconds(80))
        store.wait { $0.ledger.expired == 90 }
        #expect(store.status.streams == 2)
        configuration.destinations["app"]?.overflow = .dropOldest
        configuration.destinations["app"]?.bytesMax = store.status.bytes
        store.apply(configuration.destinations)
        fill(store, 200..<210)
        #expect(store.status.ledger.expired >= 100)
        let rest = try consumer.packets(1, of: outlet).flatMap(store.contents)
        #expect(rest[0] >= 110)
        #expect(store.status.ledger.isClosed)
    }
}
