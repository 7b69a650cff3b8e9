import Logs
import System
import Testing

@testable import Queue

/// What the owner knows must outlive the store, which is read anew after a failure and for another logstore.
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
        return try QueueOwner(configuration, QueueDoor(configuration), .started(), journal)
    }

    /// A packet that delivery holds.
    private func handOver(_ owner: QueueOwner) -> SealedPacket {
        let arrived = Awaited<SealedPacket>()
        let batch = Batch(stream: .named("a", logstore: "typo"), logs: logs(0..<10))
        owner.door.append([batch], nil) { _ in }
        owner.door.post(.deliver { for packet in $0 { arrived.put(packet) } })
        _ = owner.takeMessages()
        owner.turn()
        owner.door.post(.request(1, .named("typo")))
        _ = owner.takeMessages()
        owner.turn()
        return arrived.take(1)[0]
    }

    private func reopen(_ owner: QueueOwner) {
        let pause = Awaited<Void>()
        while owner.store == nil {
            pause.pause()
            owner.reopen()
        }
    }

    @Test("Another logstore that is set while the store is closed takes packets back all the same")
    func movedWhileClosed() throws {
        let owner = try open()
        let held = handOver(owner)
        owner.failed(.unsuitable("a test"))
        owner.apply(rules("right"), nil)
        reopen(owner)
        #expect(owner.door.recalls.contains(held.number))
        #expect(owner.store?.knows(.named("right")) == true)
    }

    @Test("While the store is closed the owner rests, also when housekeeping is overdue")
    func rests() throws {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.tuning.retryMin = .seconds(60)
        configuration.tuning.retryMax = .seconds(60)
        let owner = try QueueOwner(configuration, QueueDoor(configuration), .started(), .silent)
        owner.nextHousekeeping = Moment(nanoseconds: 0)
        owner.failed(.unsuitable("a test"))
        owner.keepHouse(isQuiet: true)
        #expect(owner.pause > .seconds(50))
    }

    @Test("What was not moved is left with delivery")
    func notMoved() throws {
        let owner = try open()
        let held = handOver(owner)
        owner.failed(.unsuitable("a test"))
        reopen(owner)
        #expect(!owner.door.recalls.contains(held.number))
    }

    @Test("When it cannot be read anew that is a failure like any other, and is told")
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
