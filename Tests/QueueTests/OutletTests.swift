import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct OutletTests {
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
        return try directory.open(configuration)
    }

    @Test("Outlets are announced: those that are known at once, each new one before its packets")
    func announcement() throws {
        let store = try open()
        let events = Awaited<String>()
        _ = store.store(batch(0..<1, .named("x")), batch(1..<2, .named("y")))
        store.connect { news in
            for outlet in news.announced { events.put(outlet.logstore) }
            for packet in news.packets { events.put("packet of \(packet.stream.logstore)") }
        }
        #expect(Set(events.take(2)) == ["x", "y"])

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
        let announced = Awaited<Outlet>()
        store.connect { for outlet in $0.announced { announced.put(outlet) } }
        let expected: Set = [Outlet.named("x"), .named("y", destination: "other")]
        #expect(Set(announced.take(2)) == expected)
    }

    @Test("Packets are handed over of the outlet that asks, and of no other")
    func demand() throws {
        let store = try open()
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
        let consumer = Consumer(store)
        let again = consumer.packets(2, of: .named("y"))
        #expect(again[0].packID == sealed[1].packID)
        #expect(try again.flatMap(store.contents) == Array(30..<50))
        #expect(consumer.packets(1, of: .named("x"))[0].packID == sealed[0].packID)
    }

    @Test("However much is asked for, a bounded number of packets is remembered")
    func boundedDemand() throws {
        let store = try open()
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
        let events = Awaited<String>()
        let consumer = Consumer(store) { for event in $0.outletEvents { events.put(event) } }
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

    let clock = ManualClock()

    @Test(
        "Devices that come and go while nothing is delivered leave no trail in the lines",
        arguments: [1, 1000]
    )
    func forgotten(logsOfPacket: Int) throws {
        var configuration = QueueConfiguration.small(
            directory.path,
            packets: PacketLimits(logs: logsOfPacket, age: .seconds(1))
        )
        configuration.ageMax = .seconds(60)
        configuration.tuning.idleStreams = 0
        let store = try directory.openStore(configuration, now: clock.queueClock.now)
        let outlet = Outlet.named("app-log")
        let stays = Batch(stream: .named("stays"), logs: logs(0..<1))
        for round in 0..<500 {
            let comes = Batch(stream: .named("\(round)"), logs: logs(0..<1))
            #expect(try store.intake.stage([comes, stays]) == nil)
            try store.intake.writeStaged()
            clock.advance(.seconds(61))
            store.expiry.look()
            _ = try store.expiry.expire(until: .now + .seconds(60))
            // The one that stays has something always.
            try store.take([stays])
        }
        let queued = try #require(store.destinations["app"]?.outlets[outlet.logstore])
        #expect(queued.streamCount <= 2)
        #expect(queued.filed <= 2 * queued.streamCount + 64)
        // Nobody who is here was forgotten with them.
        clock.advance(.seconds(2))
        var demand = Demand()
        demand.raise(outlet, by: 10)
        let topics = try store.handOver.packets(for: demand).map(\.stream.trailer.topic)
        #expect(topics == ["stays"])
        try store.commit()
    }
}

/// What a turn looks at.
@Suite(.timeLimit(.minutes(10))) struct DirtyListsTests {
    let directory = TemporaryDirectory()
    private let clock = ManualClock()

    private func open() throws -> OpenStore {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.destinations["app"]?.packet.age = .seconds(10)
        configuration.destinations["app"]?.logstoresMax = 10_000
        return try directory.openStore(configuration, now: clock.queueClock.now)
    }

    @Test("A turn looks at the logstore that got logs or a request, and not at the thousand others")
    func outlets() throws {
        try DataDirectory(path: directory.path).create()
        let store = try open()
        var demand = Demand()
        let outlets = (0..<1000).map { Outlet.named("l\($0)") }
        for outlet in outlets {
            let stream = StreamKey.named("t", logstore: outlet.logstore)
            #expect(try store.intake.stage([Batch(stream: stream, logs: logs([1]))]) == nil)
            demand.raise(outlet, by: 1)
        }
        try store.intake.writeStaged()
        #expect(try store.handOver.packets(for: demand).isEmpty)
        #expect(store.destinations.dirty.takeOutlets(clock.now).isEmpty)
        #expect(store.handOver.nextDue == clock.now + .seconds(10))

        let more = StreamKey.named("t", logstore: "l7")
        #expect(try store.intake.stage([Batch(stream: more, logs: logs([2]))]) == nil)
        try store.intake.writeStaged()
        store.destinations.noteDemand(for: .named("l9"))
        let looked = store.destinations.dirty.takeOutlets(clock.now)
        #expect(looked.map(\.name.logstore) == ["l7", "l9"])
        for outlet in looked { store.destinations.dirty.looked(outlet, due: outlet.nextDue) }

        // Of age, all of them are.
        clock.advance(.seconds(11))
        #expect(try store.handOver.packets(for: demand).count == 1000)
        #expect(store.handOver.nextDue == nil)
        try store.commit()
    }

    @Test("Only destinations that changed are published, and one whose ledger is not stored stays")
    func destinations() throws {
        try DataDirectory(path: directory.path).create()
        let store = try open()
        for name in 0..<200 { _ = store.destinations.named("d\(name)") }
        store.destinations.dirty.published()
        #expect(store.destinations.dirty.changed.isEmpty)
        #expect(try store.intake.stage([Batch(stream: .named("t"), logs: logs([1]))]) == nil)
        try store.intake.writeStaged()
        #expect(store.destinations.dirty.changed.map(\.name) == ["app"])
        store.destinations.dirty.published()
        #expect(store.destinations.dirty.changed.map(\.name) == ["app"])
        try store.commit()
        store.destinations.dirty.published()
        #expect(store.destinations.dirty.changed.isEmpty)
    }

    @Test("Whether logstores have places is known from what changed, whatever the order")
    func places() throws {
        var book = LogstoreBook(most: 6)
        for name in ["a", "b", "c", "d"] { book.apply(.proven(name)) }
        for name in ["x", "y", "z"] { book.apply(.busy(name)) }
        #expect(!book.has("w") && book.has("x") && book.has("a") && !book.isOpen)
        book.apply(.proven("x"))
        #expect(book.has("w"))
        book.apply(.quiet("x"))
        book.apply(.quiet("x"))
        #expect(book.has("w") && book.busy == ["y", "z"])
        book.apply(.most(2))
        #expect(!book.has("w") && !book.has("a") && book.has("y"))
        book.apply(.quiet("y"))
        book.apply(.quiet("z"))
        #expect(book.isOpen)
    }
}
