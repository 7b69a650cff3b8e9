import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// A destination whose logstore was mistyped, and is corrected.
@Suite(.timeLimit(.minutes(1))) struct AddressTests {
    let directory = TemporaryDirectory()

    private func rules(_ logstore: String?, lanes: Int = 0) -> DestinationRules {
        var rules = DestinationRules(packet: PacketLimits(logs: 10, age: .seconds(3600)))
        rules.logstore = logstore
        rules.lanes = lanes
        return rules
    }

    private func open(_ logstore: String?, lanes: Int = 0) throws -> DurableQueue {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.destinations["app"] = rules(logstore, lanes: lanes)
        return try DurableQueue(configuration, journal: .silent)
    }

    private func batch(_ numbers: Range<Int>, _ logstore: String) -> Batch {
        Batch(stream: .named("a", logstore: logstore), logs: logs(numbers))
    }

    /// Everything that is queued, as packets of one logstore.
    private func drain(_ store: DurableQueue, _ consumer: Consumer, _ logstore: String) throws
        -> [Int]
    {
        var found: [Int] = []
        while store.status.ledger.queued > 0 {
            store.flush("app")
            let packet = consumer.packets(1, of: .named(logstore))[0]
            #expect(packet.stream.logstore == logstore)
            found += try store.contents(of: packet)
            store.end(packet, .stored)
            store.settle()
        }
        return found
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
        defer { store.close() }
        let announced = Awaited<Outlet>()
        store.announceOutlets { for outlet in $0 { announced.put(outlet) } }
        #expect(announced.take(1) == [.named("right")] && announced.count == 0)
        _ = store.store(batch(35..<40, "right"), batch(40..<45, "typo"))
        #expect(store.status.destinations["app"]?.logstores == 1)
        let consumer = Consumer(store)
        let found = try drain(store, consumer, "right")
        #expect(found.sorted() == Array(0..<45))
        #expect(
            found.filter { $0 < 20 || (30..<35).contains($0) } == Array(0..<20) + Array(30..<35)
        )
        #expect(store.status.ledger.isClosed && store.status.bytes == 0 && store.status.rows == 0)
    }

    @Test("A reload moves what waits, and takes back what delivery holds before it is sent again")
    func reload() throws {
        let store = try open("typo")
        defer { store.close() }
        let events = Awaited<String>()
        store.announceOutlets { for outlet in $0 { events.put("+\(outlet.logstore)") } }
        store.retireOutlets { for outlet in $0 { events.put("-\(outlet.logstore)") } }
        let consumer = Consumer(store)
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
        #expect(try drain(store, consumer, "right").sorted() == Array(0..<20))
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
        defer { store.close() }
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
        defer { store.close() }
        let consumer = Consumer(store)
        _ = store.store(batch(0..<10, "typo"), batch(10..<20, "typo"))
        let held = consumer.packets(1, of: .named("typo"))[0]
        store.apply(["app": rules("right")])
        store.end(held, .stored)
        store.settle()
        #expect(store.status.ledger.delivered == 10)
        #expect(try drain(store, consumer, "right") == Array(10..<20))
        #expect(store.status.ledger.delivered == 20 && store.status.ledger.isClosed)
    }

    @Test("A dead letter is replayed to the new name, and sent nowhere else")
    func deadLetters() throws {
        let store = try open("typo")
        defer { store.close() }
        let dead = Batch.Dead(
            logs: timed([7], at: 1_800_000_000),
            reason: DeathReason(code: "ValueTooLarge", message: "too long")
        )
        let key = StreamKey.named("a", logstore: "typo")
        _ = store.store(Batch(stream: key, logs: EncodedLogs(), dead: [dead]))
        let id = try store.letters()[0].id
        store.apply(["app": rules("right")])
        guard case .otherLogstore("right") = store.replacing(id, with: .init(logstore: "x")) else {
            Issue.record("sent elsewhere")
            return
        }
        #expect(store.replaying(.ids([id])).changed == 1)
        store.flush("app")
        let packet = Consumer(store).packets(1, of: .named("right"))[0]
        #expect(packet.stream.logstore == "right" && packet.logCount == 1)
    }
}
