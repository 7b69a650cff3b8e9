import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(1))) struct VolumeTests {
    let directory = TemporaryDirectory()
    private let now = UInt32(WallTime.now.seconds)

    private func volumes(_ store: DurableQueue) -> Volumes {
        store.status.destinations["app"]?.volumes ?? Volumes()
    }

    @Test("Bytes are counted where logs come, are delivered, die and are thrown away")
    func counts() throws {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        let alive = timed(0..<10, at: now)
        let doomed = timed(10..<12, at: now)
        let reason = DeathReason(code: "ValueTooLarge", message: "a value is too long")
        let batch = Batch(
            stream: .named("a"),
            logs: alive,
            dead: [.init(logs: doomed, reason: reason)],
            dropped: 3
        )
        #expect(store.store(batch) == .stored)
        var expected = Volumes()
        expected.accepted = alive.bytes.count + doomed.bytes.count
        expected.dead = doomed.bytes.count
        expected.died = 2
        #expect(volumes(store) == expected)

        // Replayed is not accepted a second time.
        #expect(store.replaying(.matching(.init())).changed == 2)
        #expect(volumes(store) == expected)

        let consumer = Consumer(store)
        store.flush("app")
        let packet = consumer.packets(1)[0]
        store.end(packet, .stored)
        store.settle()
        expected.delivered = packet.rawBytes
        #expect(volumes(store) == expected)
        #expect(expected.delivered == expected.accepted)
    }

    @Test("Purged letters and discarded packets are bytes thrown away")
    func discards() throws {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        let alive = timed(0..<10, at: now)
        let doomed = timed(10..<12, at: now)
        let reason = DeathReason(code: "ValueTooLarge", message: "a value is too long")
        let dead = Batch.Dead(logs: doomed, reason: reason)
        #expect(store.store(Batch(stream: .named("a"), logs: alive, dead: [dead])) == .stored)
        #expect(store.purging(.matching(.init())).changed == 2)
        #expect(volumes(store).discarded == doomed.bytes.count)
        let consumer = Consumer(store)
        store.flush("app")
        let packet = consumer.packets(1)[0]
        store.end(packet, .discard(reason))
        store.settle()
        store.wait { $0.destinations["app"]?.ledger.queued == 0 }
        #expect(volumes(store).discarded == volumes(store).accepted)
    }

    @Test("What is too old is bytes that expired")
    func expires() throws {
        let time = Locked(WallTime(seconds: 1_800_000_000))
        var configuration = QueueConfiguration.small(directory.path)
        configuration.ageMax = .seconds(60)
        let door = try QueueHandle(configuration)
        let clock = QueueClock { time.withLock { $0 } }
        let owner = try QueueOwner(configuration, door, clock, .silent)
        let store = try #require(owner.store)
        let alive = logs(0..<10)
        #expect(try store.intake.stage([Batch(stream: .named("a"), logs: alive)]) == nil)
        try store.intake.writeStaged()
        try store.commit()
        time.withLock { $0 = WallTime(seconds: $0.seconds + 61) }
        store.expiry.look()
        #expect(try store.expiry.expire(until: .now + .seconds(10)) == ["app": 10])
        #expect(store.destinations.named("app").volumes.expired == alive.bytes.count)
    }
}
