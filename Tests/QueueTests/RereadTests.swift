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
@Suite(.timeLimit(.minutes(1))) struct RereadTests {
    let directory = TemporaryDirectory()
    private let lines = Awaited<[UInt8]>()

    private func rules(_ logstore: String) -> [String: DestinationRules] {
        var rules = DestinationRules(packet: PacketLimits(logs: 10, age: .seconds(3600)))
        rules.logstore = logstore
        return ["app": rules]
    }

    private func open() throws -> QueueOwner {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.destinations = rules("typo")
        let journal = Journal(level: .info, format: .json) { [lines] in lines.put($0) }
        return try QueueOwner(configuration, QueueHandle(configuration), .started(), journal)
    }

    /// A packet that delivery holds.
    private func handOver(_ owner: QueueOwner) -> SealedPacket {
        let arrived = Awaited<SealedPacket>()
        let batch = Batch(stream: .named("a", logstore: "typo"), logs: logs(0..<10))
        owner.door.append([batch], nil, sender: nil, tally: IntakeTally([batch])) { _ in }
        owner.door.post(.deliver { for packet in $0 { arrived.put(packet) } })
        _ = owner.takeMessages()
        owner.turn()
        owner.door.post(.request(1, .named("typo")))
        _ = owner.takeMessages()
        owner.turn()
        return arrived.take(1)[0]
    }

    private func reopen(_ owner: QueueOwner) {
        #expect(reopens(owner))
    }

    @Test("Another logstore that is set while the store is closed takes packets back all the same")
    func movedWhileClosed() throws {
        let owner = try open()
        let held = handOver(owner)
        owner.failed(.unsuitable("a test"))
        owner.apply(rules("right"), nil)
        reopen(owner)
        #expect(owner.door.recalls.contains(held.number))
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
        owner.door.post(.ended(held.number, .stored))
        _ = owner.takeMessages()
        owner.turn()
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
        let owner = try QueueOwner(configuration, QueueHandle(configuration), .started(), .silent)
        owner.schedule.makeHousekeepingDue()
        owner.failed(.unsuitable("a test"))
        owner.doHousekeeping(isQuiet: true)
        #expect(owner.pause > .seconds(50))
    }

    @Test("A reader that holds a snapshot delays neither a changed logstore nor the logs behind it")
    func movedBesideReader() throws {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.destinations = rules("typo")
        let store = try DurableQueue(configuration, journal: .silent)
        defer { store.close() }
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
        let again = try DurableQueue(.small(copy.path), journal: .silent)
        defer { again.close() }
        #expect(again.status.ledger.queued == 30 && again.status.salvages == 0)
    }

    @Test("Packets of an unchanged logstore stay with delivery")
    func notMoved() throws {
        let owner = try open()
        let held = handOver(owner)
        owner.failed(.unsuitable("a test"))
        reopen(owner)
        #expect(!owner.door.recalls.contains(held.number))
    }

    @Test("A store that disagrees is read again first, and rebuilt when it still does")
    func disagreement() throws {
        let owner = try open()
        let held = handOver(owner)
        owner.failed(.damage("a test"))
        reopen(owner)
        #expect(
            owner.keeper.salvager.counts.salvages == 0 && owner.delivery.packets.isHeld(held.number)
        )
        owner.failed(.damage("a test"))
        reopen(owner)
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
        #expect(owner.store == nil && owner.door.status.withLock { $0.failures } == 1)
        let said = lines.take(1).map { String(decoding: $0, as: UTF8.self) }
        #expect(said[0].contains("cannot be written") && said[0].contains("99"))
        try connection.execute("PRAGMA user_version = \(version)")
        reopen(owner)
    }
}
