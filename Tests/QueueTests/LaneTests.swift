import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct LaneTests {
    let directory = TemporaryDirectory()

    private func rules(lanes: Int) -> DestinationRules {
        let limits = PacketLimits(rawBytes: 1 << 20, logs: 10, age: .milliseconds(1))
        var rules = DestinationRules(packet: limits)
        rules.lanes = lanes
        return rules
    }

    private func open(lanes: Int) throws -> DurableQueue {
        try directory.queue { $0.destinations = ["app": rules(lanes: lanes)] }
    }

    /// Stores so many packets of ten logs each.
    private func fill(_ store: DurableQueue, packets: Int, logstore: String = "app-log") {
        for packet in 0..<packets {
            let numbers = packet * 10..<packet * 10 + 10
            let key = StreamKey.named("a", logstore: logstore)
            #expect(store.store(Batch(stream: key, logs: logs(numbers))) == .stored)
        }
    }

    private func lanes(of packets: [SealedPacket]) throws -> [Lane] {
        try packets.map { try #require($0.lane) }
    }

    @Test("Each packet has a lane of its own, and no more are handed over than there are lanes")
    func oneEach() throws {
        let store = try open(lanes: 3)
        let consumer = Consumer(store)
        fill(store, packets: 5)
        store.request(5, for: "app")
        let packets = consumer.next(3)
        _ = store.store()
        #expect(consumer.waiting == 0)
        #expect(Set(try lanes(of: packets).map(\.key)).count == 3)
        #expect(try lanes(of: packets).allSatisfy { $0.sequence == 1 })
        #expect(packets.allSatisfy { !$0.isRecovered })
        store.end(packets[1], .stored)
        let next = consumer.next()[0]
        #expect(next.lane == Lane(key: packets[1].lane?.key ?? "", sequence: 2))
        store.wait { $0.destinations["app"]?.outlets["app-log"]?.lanesInUse == 3 }
        #expect(store.status.destinations["app"]?.lanes == 3)
    }

    @Test("Logstores have lanes of their own; without lanes packets have none")
    func outlets() throws {
        let store = try open(lanes: 1)
        let consumer = Consumer(store)
        fill(store, packets: 2, logstore: "x")
        fill(store, packets: 2, logstore: "y")
        store.request(4, for: "app")
        let packets = consumer.next(2)
        #expect(Set(packets.map(\.stream.logstore)) == ["x", "y"])
        #expect(packets[0].lane?.key != packets[1].lane?.key)
        _ = store.store(Batch(stream: .named("a", destination: "other"), logs: logs(0..<1)))
        store.flush("other")
        #expect(consumer.packets(1, of: "other")[0].lane == nil)
    }

    @Test("A restart hands over the same packets in the same lanes, and says so")
    func restart() throws {
        var store = try open(lanes: 2)
        fill(store, packets: 4)
        var consumer = Consumer(store)
        let first = consumer.packets(2)
        store.end(first[0], .stored)
        let before = [first[1], consumer.packets(1)[0]]
        store.close()
        #expect(before[1].lane?.sequence == 2)
        store = try open(lanes: 2)
        consumer = Consumer(store)
        store.request(4, for: "app")
        let again = consumer.next(2)
        #expect(again.map(\.lane) == before.map(\.lane))
        #expect(again.map(\.packID) == before.map(\.packID))
        #expect(again.allSatisfy { $0.isRecovered })
        _ = store.store()
        #expect(consumer.waiting == 0)
        store.end(again[1], .stored)
        let next = consumer.next()[0]
        // The commit after its own may have been lost, and its next number used, so it gets a new
        // key.
        #expect(next.lane?.sequence == 1)
        #expect(!before.contains { $0.lane?.key == next.lane?.key })
        #expect(!next.isRecovered)
    }

    @Test("Another lane begins anew, for the same content, and nothing uses the old key again")
    func relane() throws {
        let store = try open(lanes: 2)
        let consumer = Consumer(store)
        fill(store, packets: 6)
        store.end(consumer.packets(1)[0], .stored)
        let packets = consumer.packets(2)
        let content = try store.contents(of: packets[0])
        // Told twice, it comes once.
        for _ in 0..<2 { store.end(packets[0], .relane) }
        let again = consumer.packets(1)[0]
        #expect(again.number == packets[0].number && again.packID == packets[0].packID)
        #expect(try store.contents(of: again) == content)
        #expect(again.lane?.key != packets[0].lane?.key)
        #expect(again.lane?.sequence == 1)
        #expect(!again.isRecovered)
        #expect(store.status.relanes == 1)
        store.request(10, for: "app")
        var used: [Lane] = []
        store.end(again, .stored)
        for _ in 0..<2 {
            let packet = consumer.next()[0]
            used += [packet.lane].compactMap(\.self)
            store.end(packet, .stored)
        }
        #expect(used.count == 2)
        #expect(!used.contains { $0.key == packets[0].lane?.key })
        #expect(used.contains(Lane(key: again.lane?.key ?? "", sequence: 2)))
    }

    @Test("Where lanes were switched off, a packet whose lane is refused comes again without one")
    func relaneWithout() throws {
        let store = try open(lanes: 1)
        let consumer = Consumer(store)
        fill(store, packets: 1)
        let packet = consumer.packets(1)[0]
        #expect(packet.lane != nil)
        let content = try store.contents(of: packet)
        store.apply(["app": rules(lanes: 0)])
        store.end(packet, .relane)
        let again = consumer.packets(1)[0]
        #expect(again.number == packet.number && again.packID == packet.packID)
        #expect(again.lane == nil)
        #expect(try store.contents(of: again) == content)
        store.close()
        // It has none after a restart, either, also where there are lanes again.
        let next = try open(lanes: 1)
        let other = Consumer(next)
        let third = other.packets(1)[0]
        #expect(third.packID == packet.packID && third.lane == nil)
        next.end(third, .stored)
        next.settle()
        #expect(next.status.ledger.isClosed)
    }

    @Test("A packet that was handed over, taken back and found well keeps its lane")
    func takenBack() throws {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.destinations = ["app": rules(lanes: 2)]
        let store = try directory.openStore(configuration)
        let key = StreamKey.named("a")
        #expect(try store.intake.stage([Batch(stream: key, logs: logs(0..<10))]) == nil)
        try store.intake.writeStaged()
        var demand = Demand()
        demand.raise(key.outlet, by: 1)
        let packet = try #require(try store.handOver.packets(for: demand).first)
        #expect(!packet.isRecovered)
        #expect(try store.packets.mend(packet.number) == 0)
        let again = try #require(try store.handOver.packets(for: demand).first)
        #expect(again.number == packet.number && again.lane == packet.lane)
        // Whoever held it may have sent it, and does not know any more.
        #expect(again.isRecovered)
        try store.commit()
    }

    @Test("Refused packets never share a key with what is cut from them")
    func isolated() throws {
        let store = try open(lanes: 2)
        let consumer = Consumer(store)
        let seconds = UInt32(WallTime.now.seconds)
        for packet in 0..<3 {
            let logs = timed(packet * 10..<packet * 10 + 10, at: seconds)
            #expect(store.store(Batch(logs)) == .stored)
        }
        let packets = consumer.packets(2)
        store.end(packets[0], .isolate(FakeSLS.reason))
        // More lanes than there are, for a while: halves wait for nobody, and nobody for them.
        let more = consumer.packets(3)
        #expect(more.map(\.logCount) == [5, 10, 5])
        let halves = [more[0], more[2]]
        let keys = Set(try lanes(of: packets + more).map(\.key))
        #expect(keys.count == 5)
        #expect(halves.allSatisfy { $0.lane?.sequence == 1 && !$0.isRecovered })
        store.end(halves[0], .discard(FakeSLS.reason))
        for packet in [halves[1], more[1]] { store.end(packet, .stored) }
        fill(store, packets: 1)
        let next = consumer.packets(1)[0]
        #expect(next.lane?.key != halves[0].lane?.key)
        #expect(next.lane?.key != packets[0].lane?.key)
    }

    @Test("A packet that waits for others makes place for them, and keeps its own lane")
    func setAside() throws {
        let store = try open(lanes: 1)
        let consumer = Consumer(store)
        fill(store, packets: 4)
        var aside: [SealedPacket] = []
        for _ in 0..<3 {
            aside += consumer.packets(1, of: .named("app-log"))
            store.setAside(aside[aside.count - 1])
        }
        #expect(Set(try lanes(of: aside).map(\.key)).count == 3)
        // Also when the lanes are numbered anew.
        store.apply(["app": rules(lanes: 2)])
        store.apply(["app": rules(lanes: 1)])
        let last = consumer.packets(1, of: .named("app-log"))[0]
        store.request(1, for: .named("app-log"))
        fill(store, packets: 1)
        store.settle()
        #expect(consumer.waiting == 0, "one place, and it is taken")
        store.end(aside[0], .stored)
        store.settle()
        #expect(consumer.waiting == 0)
        store.end(last, .stored)
        let next = consumer.next()[0]
        #expect(next.lane == Lane(key: last.lane?.key ?? "", sequence: 2))
    }

    @Test("A postponed packet comes again with its lane, when others were stored or none is there")
    func postponed() throws {
        let store = try open(lanes: 2)
        let consumer = Consumer(store)
        let outlet = Outlet.named("app-log")
        fill(store, packets: 4)
        let first = consumer.packets(1, of: outlet)[0]
        store.setAside(first)
        // Told twice, it comes once.
        for _ in 0..<2 { store.end(first, .postpone) }
        let others = consumer.packets(2, of: outlet)
        #expect(!others.map(\.number).contains(first.number))
        // Both places are taken.
        let again = consumer.packets(1, of: outlet)[0]
        #expect(again.number == first.number && again.packID == first.packID)
        #expect(again.lane == first.lane && again.isRecovered)
        store.end(again, .postpone)
        store.end(others[0], .stored)
        #expect(consumer.packets(1, of: outlet)[0].number == first.number)
        #expect(consumer.packets(1, of: outlet)[0].number > others[1].number)
        store.request(1, for: outlet)
        store.settle()
        #expect(consumer.waiting == 0)
    }

    @Test("What waits for room to die in makes place for others")
    func dying() throws {
        let store = try open(lanes: 1)
        let consumer = Consumer(store)
        let seconds = UInt32(WallTime.now.seconds)
        for number in 0..<2 {
            let key = StreamKey.named("\(number)")
            #expect(store.store(Batch(stream: key, logs: timed([number], at: seconds))) == .stored)
        }
        store.flush("app")
        let first = consumer.packets(1, of: .named("app-log"))[0]
        var full = rules(lanes: 1)
        full.bytesMax = 1
        store.apply(["app": full])
        store.end(first, .isolate(FakeSLS.reason))
        let second = consumer.packets(1, of: .named("app-log"))[0]
        #expect(store.status.isolationsWaiting == 1)
        store.end(second, .stored)
        store.apply(["app": rules(lanes: 1)])
        store.settle()
        #expect(store.status.isolationsWaiting == 0 && store.status.ledger.dead == 1)
    }

    @Test("Lanes are switched on and off while packets are out, which keep what they have")
    func switched() throws {
        let store = try open(lanes: 0)
        let consumer = Consumer(store)
        fill(store, packets: 12)
        let bare = consumer.packets(2)
        #expect(bare.allSatisfy { $0.lane == nil })
        store.apply(["app": rules(lanes: 4)])
        let laned = consumer.packets(4)
        #expect(Set(try lanes(of: laned).map(\.key)).count == 4)
        store.apply(["app": rules(lanes: 1)])
        // One place is left, and it is taken.
        store.request(1, for: "app")
        for packet in laned[1...] { store.end(packet, .stored) }
        store.end(laned[0], .stored)
        let last = consumer.next()[0]
        #expect(laned.map(\.lane?.key).contains(last.lane?.key))
        #expect(last.lane?.sequence == 2)
        store.apply(["app": rules(lanes: 0)])
        #expect(consumer.packets(1)[0].lane == nil)
        store.close()

        let again = try open(lanes: 2)
        let second = Consumer(again)
        again.request(6, for: "app")
        // Of the two lanes that there are now one is taken.
        let found = second.next(5)
        #expect(found.map(\.lane) == [nil, nil, last.lane, nil, found[4].lane])
        #expect(found[4].lane != nil)
        again.settle()
        #expect(second.waiting == 0)
    }

    @Test("Of two packets that claim one lane, the later one gets another")
    func claimedTwice() throws {
        let first = try open(lanes: 4)
        fill(first, packets: 4)
        let before = Consumer(first).packets(3)
        first.close()
        try execute(
            in: directory.path + "/queue.db",
            """
            UPDATE packets SET lane_key = (SELECT lane_key FROM packets ORDER BY number LIMIT 1)
            WHERE number = (SELECT max(number) FROM packets)
            """
        )
        var given: Lane?
        for _ in 0..<2 {
            let store = try open(lanes: 4)
            defer { store.close() }
            let packets = Consumer(store).packets(3)
            #expect(packets[..<2].map(\.lane) == before[..<2].map(\.lane))
            #expect(packets[2].lane?.sequence == 1)
            #expect(Set(packets.map(\.lane?.key)).count == 3)
            #expect(packets[2].isRecovered == (given != nil))
            #expect(given == nil || packets[2].lane == given)
            given = packets[2].lane
            #expect(store.status.salvages == 0)
        }
    }

    @Test("A salvage keeps the lanes that can be read, and what is sealed anew gets new ones")
    func salvage() throws {
        let first = try open(lanes: 4)
        fill(first, packets: 6)
        let before = Consumer(first).packets(4)
        first.close()
        try execute(
            in: directory.path + "/queue.db",
            """
            UPDATE packets SET lane_sequence = -5 WHERE number = \(before[0].number);
            UPDATE packets SET logs = 3 WHERE number = \(before[1].number)
            """
        )
        let store = try open(lanes: 4)
        #expect(store.status.salvages == 1)
        let consumer = Consumer(store)
        let found = Dictionary(
            uniqueKeysWithValues: try consumer.packets(4).map {
                (try store.contents(of: $0), $0)
            }
        )
        let lost = try #require(found[Array(0..<10)])
        #expect(lost.packID == before[0].packID)
        #expect(lost.lane?.key != before[0].lane?.key && lost.lane?.sequence == 1)
        let anew = try #require(found[Array(10..<20)])
        #expect(anew.packID != before[1].packID)
        #expect(anew.lane != nil && anew.lane?.key != before[1].lane?.key)
        #expect(found[Array(20..<30)]?.lane == before[2].lane)
        #expect(found[Array(30..<40)]?.lane == before[3].lane)
        _ = store.store()
        #expect(consumer.waiting == 0)
    }
}
