import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(1))) struct LogStoreTests {
    let directory = TemporaryDirectory()

    @Test("What is stored comes out in order, and is gone once it is acknowledged")
    func roundTrip() throws {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        for start in stride(from: 0, to: 50, by: 10) {
            let batch = Batch(stream: .named("a"), logs: logs(start..<start + 10))
            #expect(store.store(batch) == .stored)
        }
        #expect(store.status.ledger.queued == 50)

        let consumer = Consumer(store)
        store.flush("app")
        let packet = try #require(consumer.packets(1).first)
        #expect(packet.logCount == 50)
        #expect(packet.recent != nil)
        #expect(try store.contents(of: packet) == Array(0..<50))

        store.end(packet, .stored)
        store.wait { $0.rows == 0 }
        #expect(store.status.bytes == 0)
        #expect(store.status.ledger.delivered == 50)
        #expect(store.status.ledger.isClosed)
    }

    @Test("A packet that is not in memory is read from the disk, the same as before")
    func readBack() throws {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.tuning.recentBytesMax = 0
        let store = try DurableQueue(configuration, journal: .silent)
        defer { store.close() }
        #expect(store.store(Batch(stream: .named("a"), logs: logs(0..<1000))) == .stored)
        #expect(store.store(Batch(stream: .named("b"), logs: logs(1000..<1100))) == .stored)
        #expect(store.store(Batch(stream: .named("a"), logs: logs(1100..<1200))) == .stored)
        let consumer = Consumer(store)
        store.flush("app")
        let packets = consumer.packets(2)
        #expect(packets.allSatisfy { $0.recent == nil })
        let contents = try packets.map { try store.contents(of: $0) }
        #expect(Set(contents) == [Array(0..<1000) + Array(1100..<1200), Array(1000..<1100)])
    }

    @Test("A restart hands over what was sealed before, with the same id and content")
    func restart() throws {
        let before: SealedPacket
        do {
            let store = try DurableQueue(.small(directory.path), journal: .silent)
            let consumer = Consumer(store)
            _ = store.store(Batch(stream: .named("a"), logs: logs(0..<10)))
            store.flush("app")
            before = consumer.packets(1)[0]
            _ = store.store(Batch(stream: .named("a"), logs: logs(10..<20)))
        }
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        let consumer = Consumer(store)
        let again = consumer.packets(1)[0]
        #expect(again.number == before.number)
        #expect(again.packID == before.packID)
        #expect(again.stream == before.stream)
        #expect(try store.contents(of: again) == Array(0..<10))
        store.flush("app")
        #expect(try store.contents(of: consumer.packets(1)[0]) == Array(10..<20))
    }
}
