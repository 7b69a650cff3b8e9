import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(1))) struct OutletTests {
    let directory = TemporaryDirectory()

    private func batch(_ numbers: Range<Int>, _ outlet: Outlet, stream: String = "a") -> Batch {
        let key = StreamKey.named(
            stream,
            destination: outlet.destination,
            logstore: outlet.logstore
        )
        return Batch(stream: key, logs: logs(numbers))
    }

    private func open(logs: Int = 10, idleStreams: Int = 100) throws -> DurableQueue {
        var configuration = QueueConfiguration.small(
            directory.path,
            packets: PacketLimits(rawBytes: 1 << 20, logs: logs, age: .seconds(3600))
        )
        configuration.tuning.idleStreams = idleStreams
        return try DurableQueue(configuration, journal: .silent)
    }

    @Test("Outlets are announced: those that are known at once, each new one before its packets")
    func announcement() throws {
        let store = try open()
        defer { store.close() }
        let events = Awaited<String>()
        _ = store.store(batch(0..<1, .named("x")), batch(1..<2, .named("y")))
        store.announceOutlets { for outlet in $0 { events.put(outlet.logstore) } }
        #expect(Set(events.take(2)) == ["x", "y"])

        store.deliver { for packet in $0 { events.put("packet of \(packet.stream.logstore)") } }
        _ = store.store(batch(2..<12, .named("z")), batch(12..<13, .named("x")))
        #expect(events.take(1) == ["z"])
        store.request(1, for: .named("z"))
        #expect(events.take(1) == ["packet of z"])
        #expect(events.count == 0)
    }

    @Test("What is on disk at the start is announced")
    func announcementAfterRestart() throws {
        let first = try open()
        _ = first.store(batch(0..<1, .named("x")), batch(1..<2, .named("y", destination: "other")))
        first.close()
        let store = try open()
        defer { store.close() }
        let announced = Awaited<Outlet>()
        store.announceOutlets { for outlet in $0 { announced.put(outlet) } }
        let expected: Set = [Outlet.named("x"), .named("y", destination: "other")]
        #expect(Set(announced.take(2)) == expected)
    }

    @Test("Packets are handed over of the outlet that asks, and of no other")
    func demand() throws {
        let store = try open()
        defer { store.close() }
        let consumer = Consumer(store)
        _ = store.store(batch(0..<30, .named("x")), batch(30..<60, .named("y")))
        let packets = consumer.packets(2, of: .named("y"))
        #expect(packets.allSatisfy { $0.stream.outlet == .named("y") })
        #expect(try packets.flatMap(store.contents) == Array(30..<50))
        store.request(5, for: .named("x"))
        #expect(consumer.next(3).allSatisfy { $0.stream.outlet == .named("x") })
        _ = store.store()
        #expect(consumer.waiting == 0)
        #expect(store.status.destinations["app"]?.demand == 2)
    }

    @Test("A restart hands over each outlet's own packets first")
    func restart() throws {
        let first = try open()
        let before = Consumer(first)
        _ = first.store(batch(0..<30, .named("x")), batch(30..<60, .named("y")))
        let sealed = before.packets(1, of: .named("x")) + before.packets(1, of: .named("y"))
        first.close()
        let store = try open()
        defer { store.close() }
        let consumer = Consumer(store)
        let again = consumer.packets(2, of: .named("y"))
        #expect(again[0].packID == sealed[1].packID)
        #expect(try again.flatMap(store.contents) == Array(30..<50))
        #expect(consumer.packets(1, of: .named("x"))[0].packID == sealed[0].packID)
    }

    @Test("However much is asked for, a bounded number of packets is remembered")
    func boundedDemand() throws {
        let store = try open()
        defer { store.close() }
        let consumer = Consumer(store)
        _ = store.store(batch(0..<1, .named("x")))
        for _ in 0..<3 { store.request(.max, for: .named("x")) }
        store.request(.min, for: .named("x"))
        _ = store.store(batch(1..<10, .named("x")))
        #expect(consumer.next(1).count == 1)
        _ = store.store()
        #expect(store.status.destinations["app"]?.demand == Demand.most - 1)
    }

    @Test("An outlet that was empty for long is retired, and announced again with its next log")
    func retirement() throws {
        let store = try open(idleStreams: 0)
        defer { store.close() }
        let events = Awaited<String>()
        store.announceOutlets { for outlet in $0 { events.put("+\(outlet.logstore)") } }
        store.retireOutlets { for outlet in $0 { events.put("-\(outlet.logstore)") } }
        let consumer = Consumer(store)
        for round in 0..<3 {
            _ = store.store(batch(0..<10, .named("x")))
            #expect(events.take(1) == ["+x"], "round \(round)")
            store.end(consumer.packets(1, of: .named("x"))[0], .stored)
            store.request(7, for: .named("x"))
            #expect(events.take(1) == ["-x"], "round \(round)")
            store.wait { $0.destinations["app"]?.demand == 0 }
        }
        // Nobody asked for it since it was announced the last time.
        _ = store.store(batch(0..<10, .named("x")))
        _ = store.store()
        #expect(consumer.waiting == 0)
        store.request(1, for: .named("nobody has logs here"))
        _ = store.store()
        #expect(store.status.destinations["app"]?.demand == 0)
    }
}
