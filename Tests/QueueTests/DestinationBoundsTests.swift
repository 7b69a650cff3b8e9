import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct DestinationBoundsTests {
    let directory = TemporaryDirectory()

    private func configuration(
        _ rules: (inout DestinationRules) -> Void
    ) -> QueueConfiguration {
        var configuration = QueueConfiguration.small(directory.path)
        rules(&configuration.destinations["app", default: DestinationRules()])
        return configuration
    }

    /// One log that takes some 600 bytes of the queue.
    private func batch(_ number: Int, _ stream: StreamKey = .named("a")) -> Batch {
        Batch(stream: stream, logs: logs([number], noise: 440))
    }

    @Test("A full destination refuses, others go on, and it takes again when something left")
    func reject() throws {
        let store = try directory.open(configuration { $0.bytesMax = 20_000 })
        let consumer = Consumer(store)
        var stored = 0
        while store.store(batch(stored)) == .stored { stored += 1 }
        #expect((20...32).contains(stored))
        #expect(store.store(batch(0)) == .refused(.destinationFull))
        let app = try #require(store.status.destinations["app"])
        #expect(app.bytes <= 20_000 && app.bytesMax == 20_000 && app.admission == .destinationFull)

        #expect(store.admission == .open)
        #expect(store.admission(for: .named("app-log")) == .destinationFull)
        #expect(store.admission(for: .named("app-log", destination: "other")) == .open)
        let other = batch(0, .named("a", destination: "other"))
        #expect(store.store(other) == .stored)
        #expect(store.store(other, batch(0)) == .refused(.destinationFull))
        #expect(store.status.destinations["other"]?.ledger.accepted == 1)

        store.end(consumer.sealed(), .stored)
        store.wait { $0.destinations["app"]?.admission == .open }
        #expect(store.admission(for: .named("app-log")) == .open)
        #expect(store.store(batch(0)) == .stored)
    }

    @Test("The journal says once what a destination refuses and why, and when it does not any more")
    func announcement() throws {
        let lines = Awaited<String>()
        let configuration = configuration {
            $0.bytesMax = 20_000
            $0.logstoresMax = 1
        }
        let store = try directory.open(configuration, journal: lines.journal())
        let consumer = Consumer(store)
        for _ in 0..<3 {
            while store.store(batch(0)) == .stored {}
            store.end(consumer.sealed(), .stored)
            store.wait { $0.bytes == 0 }
        }
        _ = store.store(batch(0, .named("a", destination: "other")))
        var said = lines.take(2)
        #expect(said[0].contains("is full") && said[0].contains("\"app\""))
        #expect(said[0].contains("20000") && said[0].contains("remedy"))
        #expect(said[1].contains("takes batches again"))
        #expect(lines.count == 0)

        _ = store.store(batch(0))
        for _ in 0..<3 {
            _ = store.store(batch(0, .named("a", logstore: "x")))
            _ = store.admission(for: .named("y"))
        }
        said = lines.take(1)
        #expect(said[0].contains("too many logstores") && said[0].contains("\"app\""))
        #expect(lines.count == 0)
    }

    @Test("What a destination has in the queue is the same after a restart")
    func restart() throws {
        let configuration = configuration { $0.bytesMax = 20_000 }
        let first = try directory.open(configuration)
        let before = Consumer(first)
        for number in 0..<10 { _ = first.store(batch(number, .named("\(number % 3)"))) }
        first.flush("app")
        _ = before.packets(2)
        let bytes = first.status.destinations["app"]?.bytes
        first.close()
        let store = try directory.open(configuration)
        #expect(store.status.destinations["app"]?.bytes == bytes)
        let consumer = Consumer(store)
        #expect(try consumer.drain("app").count == 10)
        #expect(store.status.destinations["app"]?.bytes == 0)
    }

    @Test("With drop_oldest the oldest of all streams make room, and are counted as expired")
    func dropOldest() throws {
        let configuration = configuration {
            $0.bytesMax = 20_000
            $0.overflow = .dropOldest
        }
        let lines = Awaited<String>()
        let clock = ManualClock()
        let store = try directory.open(
            configuration,
            journal: lines.journal(),
            clock: clock.queueClock
        )
        let consumer = Consumer(store)
        for number in 0..<100 {
            clock.advance(.microseconds(1))
            let outcome = store.store(batch(number, .named("\(number * number % 7)")))
            #expect(outcome == .stored)
            #expect(store.admission(for: .named("app-log")) == .open)
            #expect(store.status.destinations["app"]?.bytes ?? 0 <= 20_000)
        }
        let app = try #require(store.status.destinations["app"])
        #expect((65...85).contains(app.ledger.expired))
        #expect(app.ledger.isClosed && app.dropped == Int(app.ledger.expired))
        let left = try consumer.drain("app").sorted()
        #expect(left == Array(Int(app.ledger.expired)..<100))

        let said = lines.take(1)
        #expect(said[0].contains("oldest made room") && said[0].contains("\"app\""))
        store.wait { $0.bytes == 0 }
        #expect(lines.count == 0)
    }

    @Test("Packets that delivery holds stay; where they fill the bound, batches wait")
    func sealedStay() throws {
        let configuration = configuration {
            $0.bytesMax = 20_000
            $0.overflow = .dropOldest
        }
        let store = try directory.open(configuration)
        let consumer = Consumer(store)
        for number in 0..<50 { _ = store.store(batch(number)) }
        let sealed = consumer.sealed()
        #expect(store.store(batch(50)) == .refused(.destinationFull))
        #expect(store.admission(for: .named("app-log")) == .destinationFull)
        #expect(try store.contents(of: sealed) == Array(50 - sealed.logCount..<50))
        store.end(sealed, .stored)
        store.wait { $0.destinations["app"]?.admission == .open }
        #expect(store.store(batch(50)) == .stored)
    }

    @Test("A batch that no room could hold is refused, whatever the policy")
    func tooLarge() throws {
        let configuration = configuration {
            $0.bytesMax = 20_000
            $0.overflow = .dropOldest
        }
        let store = try directory.open(configuration)
        _ = store.store(batch(0))
        let large = Batch(logs([1], filling: 30_000))
        #expect(store.store(large) == .refused(.destinationFull))
        #expect(store.status.ledger.queued == 1)
    }

    @Test("When the whole queue is full each destination does what its own policy says")
    func fullQueue() throws {
        var configuration = configuration { $0.overflow = .dropOldest }
        configuration.bytesMax = 40_000
        let store = try directory.open(configuration)
        let consumer = Consumer(store)
        for number in 0..<20 { _ = store.store(batch(number)) }
        var stored = 0
        let other = StreamKey.named("a", destination: "other")
        while store.store(batch(stored, other)) == .stored { stored += 1 }
        #expect(store.store(batch(0, other)) == .refused(.full))
        #expect(store.admission == .full)
        #expect(store.admission(for: .named("app-log", destination: "other")) == .full)
        #expect(store.admission(forDestination: "other") == .full)
        #expect(store.admission(forDestination: "app") == .open)
        #expect(store.admission(for: .named("app-log")) == .open)
        for number in 20..<60 { #expect(store.store(batch(number)) == .stored) }
        #expect(store.status.bytes <= 40_000)
        #expect(store.status.destinations["other"]?.ledger.expired == 0)
        let left = try consumer.drain("app")
        #expect(left.last == 59 && left == Array(left[0]...59))
        #expect(try consumer.drain("other") == Array(0..<stored))
    }

    @Test("As many logstores as may have logs do; one without logs gives its place to another")
    func logstores() throws {
        let store = try directory.open(configuration { $0.logstoresMax = 3 })
        let consumer = Consumer(store)
        func key(_ logstore: String) -> StreamKey { .named("a", logstore: logstore) }
        #expect(store.store(batch(0, key("w")), batch(0, key("x"))) == .stored)
        #expect(store.admission(for: .named("y")) == .open)
        #expect(
            store.store(batch(1, key("y")), batch(2, key("z"))) == .refused(.tooManyLogstores)
        )
        #expect(store.store(batch(1, key("y"))) == .stored)
        #expect(store.store(batch(2, key("z"))) == .refused(.tooManyLogstores))
        #expect(store.admission(for: .named("z")) == .tooManyLogstores)
        #expect(store.admission(forDestination: "app") == .open)
        #expect(store.admission(for: .named("x")) == .open)
        #expect(store.store(batch(3, key("x")), batch(4, key("y"))) == .stored)

        store.flush("app")
        for name in ["w", "x"] { store.end(consumer.packets(1, of: .named(name))[0], .stored) }
        store.wait { $0.rows == 2 }
        #expect(store.admission(for: .named("z")) == .open)
        #expect(store.store(batch(5, key("z"))) == .stored)
        #expect(store.store(batch(6, key("x"))) == .stored)
        #expect(store.store(batch(7, key("w"))) == .refused(.tooManyLogstores))
    }

    @Test("A destination's own age decides when its logs expire")
    func age() throws {
        let clock = ManualClock()
        let configuration = configuration { $0.ageMax = .seconds(60) }
        let store = try directory.open(configuration, clock: clock.queueClock)
        _ = store.store(batch(0), batch(1, .named("a", destination: "other")))
        clock.advance(.seconds(61))
        store.wait { $0.ledger.expired == 1 }
        #expect(store.status.destinations["app"]?.ledger.expired == 1)
        #expect(store.status.destinations["other"]?.ledger.queued == 1)
    }

    @Test("Rules that change at run time hold for what is stored and sealed next")
    func newRules() throws {
        let store = try directory.open(configuration { _ in })
        let consumer = Consumer(store)
        for number in 0..<40 { _ = store.store(batch(number)) }
        store.request(1, for: "app")

        var rules = DestinationRules(packet: PacketLimits(logs: 10, age: .seconds(3600)))
        rules.bytesMax = 20_000
        store.apply(["app": rules])
        #expect(try consumer.next().map(store.contents) == [Array(0..<10)])
        #expect(store.store(batch(40)) == .refused(.destinationFull))
        rules.overflow = .dropOldest
        store.apply(["app": rules])
        #expect(store.store(batch(40)) == .stored)
        #expect(store.status.destinations["app"]?.bytes ?? .max <= 20_000)
        let expired = try #require(store.status.destinations["app"]?.ledger.expired)
        let first = 10 + Int(expired)
        #expect(try consumer.packets(1).map(store.contents) == [Array(first..<first + 10)])

        rules.bytesMax = nil
        rules.packet = PacketLimits(age: .milliseconds(1))
        store.apply(["app": rules])
        #expect(try consumer.packets(1).map(store.contents) == [Array(first + 10...40)])
    }

    @Test("The status tells what each outlet has")
    func status() throws {
        let store = try directory.open(configuration { _ in })
        let consumer = Consumer(store)
        _ = store.store(batch(0, .named("a", logstore: "x")), batch(1, .named("a", logstore: "y")))
        store.flush("app")
        let packet = consumer.packets(1, of: .named("x"))[0]
        store.request(3, for: .named("x"))
        _ = store.store(batch(2, .named("b", logstore: "x")))
        store.wait { $0.destinations["app"]?.outlets["x"]?.queued == 2 }
        store.wait { $0.destinations["app"]?.outlets["x"]?.demand == 3 }
        let outlets = try #require(store.status.destinations["app"]?.outlets)
        #expect(outlets["x"]?.packets == 1)
        #expect(outlets["x"]?.oldest == packet.oldest)
        #expect(outlets["y"]?.queued == 1 && outlets["y"]?.packets == 0)
        store.end(packet, .stored)
        store.wait { $0.destinations["app"]?.outlets["x"]?.packets == 0 }
    }
}
