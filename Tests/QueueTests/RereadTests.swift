import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// What the owner knows must outlive the store, which is read anew after a failure and for another
/// logstore.
@Suite(.timeLimit(.minutes(10))) struct RereadTests {
    let directory = TemporaryDirectory()
    private let lines = Awaited<String>()

    private func rules(_ logstore: String) -> [String: DestinationRules] {
        var rules = DestinationRules(packet: PacketLimits(logs: 10, age: .seconds(3600)))
        rules.logstore = logstore
        return ["app": rules]
    }

    private func open() throws -> QueueOwner {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.destinations = rules("typo")
        return try QueueOwner(configuration, QueueHandle(configuration), lines.journal())
    }

    /// A packet that delivery holds.
    private func handOver(_ owner: QueueOwner) -> SealedPacket {
        let arrived = Awaited<SealedPacket>()
        let batch = Batch(stream: .named("a", logstore: "typo"), logs: logs(0..<10))
        owner.append(batch)
        owner.handle.post(.connect { for packet in $0.packets { arrived.put(packet) } })
        owner.takeTurn()
        owner.handle.post(.packets(1, of: .named("typo")))
        owner.takeTurn()
        return arrived.take(1)[0]
    }

    @Test("Another logstore that is set while the store is closed takes packets back all the same")
    func movedWhileClosed() throws {
        let owner = try open()
        let held = handOver(owner)
        owner.failed(.unsuitable("a test"))
        owner.apply(rules("right"), nil)
        #expect(reopens(owner))
        #expect(owner.handle.recalls.contains(held.number))
        #expect(owner.store?.destinations.knows(.named("right")) == true)
    }

    @Test("Numbers go on when the database is lost, so no new packet has the number of a held one")
    func numbersGoOn() throws {
        let owner = try open()
        let held = handOver(owner)
        for name in ["queue.db", "queue.db-wal", "queue.db-shm"] {
            unlink(directory.path + "/" + name)
        }
        owner.apply(rules("right"), nil)
        let store = try #require(owner.store)
        #expect(store.packets[held.number] == nil)
        #expect(try store.context.takeNumber() > held.number)
    }

    @Test("A destination without logs leaves and comes back without a new reading of the queue")
    func leavesAndReturns() throws {
        let owner = try open()
        let held = handOver(owner)
        owner.handle.post(.end(held.id, .stored))
        owner.takeTurn()
        let store = try #require(owner.store)
        #expect(store.destinations["app"]?.ledger.queued == 0)
        #expect(store.destinations["app"]?.outlets.isEmpty == false)
        owner.apply(["other": DestinationRules()], nil)
        #expect(owner.store === store)
        owner.apply(rules("typo"), nil)
        #expect(owner.store === store)
        // Its idle streams must move.
        owner.apply(["other": DestinationRules()], nil)
        owner.apply(rules("right"), nil)
        #expect(owner.store !== store)
    }

    @Test("A destination with logs that leaves has them read again")
    func leavesWithLogs() throws {
        let owner = try open()
        _ = handOver(owner)
        let store = try #require(owner.store)
        owner.apply(["other": DestinationRules()], nil)
        #expect(owner.store !== store)
    }

    @Test("While the store is closed the owner rests, also when housekeeping is overdue")
    func rests() throws {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.tuning.retryMin = .seconds(60)
        configuration.tuning.retryMax = .seconds(60)
        let owner = try QueueOwner(configuration, QueueHandle(configuration), .silent)
        owner.schedule.makeHousekeepingDue()
        owner.failed(.unsuitable("a test"))
        owner.doHousekeeping(isQuiet: true)
        #expect(owner.pause > .seconds(50))
    }

    @Test("A reader that holds a snapshot delays neither a changed logstore nor the logs behind it")
    func movedBesideReader() throws {
        let store = try directory.queue { $0.destinations = rules("typo") }
        let stream = StreamKey.named("a", logstore: "typo")
        #expect(store.store(Batch(stream: stream, logs: logs(0..<10))) == .stored)
        let reader = try Connection(directory.path + "/queue.db", .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM rows")
        #expect(store.store(Batch(stream: stream, logs: logs(10..<20))) == .stored)

        let start = Moment.now
        store.apply(rules("right"))
        #expect(store.store(Batch(stream: stream, logs: logs(20..<30))) == .stored)
        #expect(.now - start < .seconds(4).calibrated())
        store.flush("app")
        let packets = Consumer(store).packets(3, of: .named("right"))
        #expect(try packets.flatMap(store.contents) == Array(0..<30))
        #expect(try reader.integer("SELECT count(*) FROM rows") == 1)

        // As a kill would leave it.
        let copy = directory.copy()
        let again = try copy.queue()
        #expect(again.status.ledger.queued == 30 && again.status.salvages == 0)
    }

    @Test("Packets of an unchanged logstore stay with delivery")
    func notMoved() throws {
        let owner = try open()
        let held = handOver(owner)
        owner.failed(.unsuitable("a test"))
        #expect(reopens(owner))
        #expect(!owner.handle.recalls.contains(held.number))
    }

    @Test("A store that disagrees is read again first, and rebuilt when it still does")
    func disagreement() throws {
        let owner = try open()
        let held = handOver(owner)
        owner.failed(.damage("a test"))
        #expect(reopens(owner))
        #expect(
            owner.keeper.salvager.counts.salvages == 0 && owner.delivery.packets.isHeld(held.number)
        )
        owner.failed(.damage("a test"))
        #expect(reopens(owner))
        #expect(
            owner.keeper.salvager.counts.salvages == 1 && owner.delivery.packets.isHeld(held.number)
        )
    }

    @Test("If a store cannot be read again, that is reported as any other failure")
    func failsToReread() throws {
        let owner = try open()
        _ = handOver(owner)
        let connection = try Connection(directory.path + "/queue.db", .readWrite)
        let version = try connection.integer("PRAGMA user_version")
        try connection.execute("PRAGMA user_version = 99")
        _ = lines.take(lines.count)
        owner.apply(rules("right"), nil)
        #expect(owner.store == nil && owner.handle.status.withLock { $0.failures } == 1)
        let said = lines.take(1)
        #expect(said[0].contains("cannot be written") && said[0].contains("99"))
        try connection.execute("PRAGMA user_version = \(version)")
        #expect(reopens(owner))
    }
}

/// A destination whose logstore was mistyped, and is corrected.
@Suite(.timeLimit(.minutes(10))) struct AddressTests {
    let directory = TemporaryDirectory()

    private func rules(_ logstore: String?, lanes: Int = 0) -> DestinationRules {
        var rules = DestinationRules(packet: PacketLimits(logs: 10, age: .seconds(3600)))
        rules.logstore = logstore
        rules.lanes = lanes
        return rules
    }

    private func open(_ logstore: String?, lanes: Int = 0) throws -> DurableQueue {
        try directory.queue { $0.destinations["app"] = rules(logstore, lanes: lanes) }
    }

    private func batch(_ numbers: Range<Int>, _ logstore: String) -> Batch {
        Batch(stream: .named("a", logstore: logstore), logs: logs(numbers))
    }

    @Test(
        "After a restart everything goes to the new name, sealed or not, in order",
        arguments: [0, 3]
    )
    func restart(lanes: Int) throws {
        let first = try open("typo", lanes: lanes)
        let before = Consumer(first)
        _ = first.store(batch(0..<10, "typo"), batch(10..<20, "typo"))
        _ = before.packets(1, of: .named("typo"))
        first.close()
        // Logs under the right name as well, as if it had been that before.
        let second = try open(nil, lanes: lanes)
        _ = second.store(batch(20..<30, "right"), batch(30..<35, "typo"))
        second.close()

        let store = try open("right", lanes: lanes)
        let announced = Awaited<Outlet>()
        let consumer = Consumer(store) { for outlet in $0.announced { announced.put(outlet) } }
        #expect(announced.take(1) == [.named("right")] && announced.count == 0)
        _ = store.store(batch(35..<40, "right"), batch(40..<45, "typo"))
        #expect(store.status.destinations["app"]?.logstores == 1)
        let found = try consumer.drain("app", "right")
        #expect(found.sorted() == Array(0..<45))
        #expect(
            found.filter { $0 < 20 || (30..<35).contains($0) } == Array(0..<20) + Array(30..<35)
        )
        #expect(store.status.ledger.isClosed && store.status.bytes == 0 && store.status.rows == 0)
    }

    @Test("A reload moves what waits, and takes back what delivery holds before it is sent again")
    func reload() throws {
        let store = try open("typo")
        let events = Awaited<String>()
        let consumer = Consumer(store) { for event in $0.outletEvents { events.put(event) } }
        _ = store.store(batch(0..<10, "typo"), batch(10..<20, "typo"))
        #expect(events.take(1) == ["+typo"])
        let held = consumer.packets(1, of: .named("typo"))[0]
        store.apply(["app": rules("right")])
        #expect(Set(events.take(2)) == ["-typo", "+right"])
        do {
            _ = try store.blocks(of: held)
            Issue.record("not recalled")
        } catch {
            #expect(error.kind == .withdrawn)
        }
        #expect(try consumer.drain("app", "right").sorted() == Array(0..<20))
        #expect(store.status.ledger.delivered == 20 && store.status.ledger.isClosed)
        #expect(store.status.bytes == 0)
    }

    @Test("Logs that came under the new name keep it when any name may come again")
    func thenAny() throws {
        let first = try open("typo")
        _ = first.store(batch(0..<5, "typo"))
        first.apply(["app": rules("right")])
        _ = first.store(batch(5..<10, "typo"), batch(10..<15, "right"))
        #expect(first.status.streams == 2)
        first.close()

        let store = try open(nil)
        store.flush("app")
        let consumer = Consumer(store)
        let old = try consumer.packets(1, of: .named("typo")).flatMap(store.contents)
        #expect(old == Array(0..<5))
        let new = try consumer.packets(1, of: .named("right")).flatMap(store.contents)
        #expect(new == Array(5..<15))
    }

    @Test("A packet that is stored all the same counts once")
    func storedMeanwhile() throws {
        let store = try open("typo")
        let consumer = Consumer(store)
        _ = store.store(batch(0..<10, "typo"), batch(10..<20, "typo"))
        let held = consumer.packets(1, of: .named("typo"))[0]
        store.apply(["app": rules("right")])
        store.end(held, .stored)
        store.settle()
        #expect(store.status.ledger.delivered == 10)
        #expect(try consumer.drain("app", "right") == Array(10..<20))
        #expect(store.status.ledger.delivered == 20 && store.status.ledger.isClosed)
    }

    @Test("A dead letter is replayed to the new name, and sent nowhere else")
    func deadLetters() throws {
        let store = try open("typo")
        _ = store.store(.dead(timed([7], at: 1_800_000_000), .named("a", logstore: "typo")))
        let id = try store.letters()[0].id
        store.apply(["app": rules("right")])
        #expect(store.replacing(id, with: .init(logstore: "x")) == .otherLogstore("right"))
        #expect(store.replaying(.ids([id])).changed == 1)
        store.flush("app")
        let packet = Consumer(store).packets(1, of: .named("right"))[0]
        #expect(packet.stream.logstore == "right" && packet.logCount == 1)
    }
}
