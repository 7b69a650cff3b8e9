import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// Places of logstores whose names devices invent.
@Suite(.timeLimit(.minutes(10))) struct PlacesTests {
    let directory = TemporaryDirectory()
    private let clock = ManualClock()

    private func open(_ logstoresMax: Int) throws -> DurableQueue {
        try directory.queue(clock: clock.queueClock) {
            $0.ageMax = .seconds(60)
            $0.destinations["app"]?.logstoresMax = logstoresMax
        }
    }

    private func store(_ logstore: String, in store: DurableQueue) -> AppendOutcome {
        store.store(Batch(stream: .named("a", logstore: logstore), logs: logs([1])))
    }

    /// It takes a packet, and has no logs then.
    private func prove(_ logstore: String, in store: DurableQueue) {
        #expect(self.store(logstore, in: store) == .stored)
        store.flush("app")
        store.end(Consumer(store).packets(1, of: .named(logstore))[0], .stored)
        store.settle()
    }

    @Test("Half of the places are kept for logstores that took a packet once, also after a restart")
    func proven() throws {
        var queue = try open(6)
        for name in ["a", "b", "c", "d"] { prove(name, in: queue) }
        for restarts in [false, true] {
            if restarts {
                queue.close()
                queue = try open(6)
            }
            for name in ["x", "y", "z"] { #expect(store(name, in: queue) == .stored) }
            #expect(store("w", in: queue) == .refused(.tooManyLogstores))
            #expect(queue.admission(for: .named("w")) == .tooManyLogstores)
            #expect(queue.admission(for: .named("x")) == .open)
            #expect(queue.admission(for: .named("a")) == .open)
        }
        for name in ["a", "b", "c"] { #expect(store(name, in: queue) == .stored) }
        #expect(store("d", in: queue) == .refused(.tooManyLogstores))
        #expect(queue.admission(for: .named("d")) == .tooManyLogstores)
        queue.close()
    }

    @Test("Of the logstores that one request names, those that come last have no place")
    func together() throws {
        let queue = try open(6)
        for name in ["a", "b", "c", "d"] { prove(name, in: queue) }
        func crowdedOut(_ names: String...) -> Set<String> {
            Set(queue.crowdedOut(names.map { .named($0) }).map(\.logstore))
        }
        // Three places are for those that never took a packet, as in the test before.
        #expect(crowdedOut("x", "y", "z", "x", "w", "a", "w", "b", "c", "d") == ["w", "d"])
        #expect(crowdedOut("a", "b", "c", "d", "x", "y", "z") == ["z"])
        #expect(store("x", in: queue) == .stored)
        #expect(crowdedOut("y", "z", "w", "x") == ["w"])
        // What was asked for is not taken before it is stored.
        for name in ["y", "z", "a", "b", "c"] { #expect(store(name, in: queue) == .stored) }
        #expect(crowdedOut("x", "a", "w", "d") == ["w", "d"])
    }

    @Test("Where none is known to exist all places are for whoever comes")
    func noneProven() throws {
        let queue = try open(4)
        for name in ["w", "x", "y", "z"] { #expect(store(name, in: queue) == .stored) }
        #expect(store("v", in: queue) == .refused(.tooManyLogstores))
    }

    @Test(
        "What was sealed for a logstore that takes nothing grows too old, and gives its place back"
    )
    func sealedExpires() throws {
        let queue = try open(1)
        let consumer = Consumer(queue)
        #expect(store("invented", in: queue) == .stored)
        queue.flush("app")
        let held = consumer.packets(1, of: .named("invented"))[0]
        clock.advance(.seconds(61))
        // Delivery holds it; it is taken back when its content is asked for, not while it may be
        // under way.
        var error: QueueError?
        while error == nil {
            do { _ = try queue.blocks(of: held) } catch let found { error = found }
        }
        #expect(error?.kind == .withdrawn)
        queue.wait { $0.ledger.expired == 1 }
        #expect(queue.status.ledger.isClosed && queue.status.bytes == 0)
        #expect(queue.status.packets == 0)
        #expect(store("another", in: queue) == .stored)
        #expect(consumer.waiting == 0)
    }

    @Test("One that was stored before it could be taken back is delivered")
    func storedInTime() throws {
        let queue = try open(1)
        #expect(store("slow", in: queue) == .stored)
        queue.flush("app")
        let held = Consumer(queue).packets(1, of: .named("slow"))[0]
        clock.advance(.seconds(61))
        for _ in 0..<50 { queue.settle() }
        queue.end(held, .stored)
        queue.settle()
        #expect(queue.status.ledger.delivered == 1 && queue.status.ledger.isClosed)
    }

    @Test("Sealed in an earlier life and asked for by nobody, only what is old enough goes")
    func partly() throws {
        do {
            let queue = try open(1)
            #expect(store("x", in: queue) == .stored)
            clock.advance(.seconds(40))
            #expect(store("x", in: queue) == .stored)
            queue.flush("app")
            #expect(Consumer(queue).packets(1, of: .named("x"))[0].logCount == 2)
            queue.close()
        }
        let queue = try open(1)
        clock.advance(.seconds(30))
        queue.wait { $0.ledger.expired == 1 }
        #expect(queue.status.ledger.queued == 1 && queue.status.ledger.isClosed)
        #expect(queue.status.packets == 1 && queue.status.rows == 1)
        let rest = Consumer(queue).packets(1, of: .named("x"))[0]
        #expect(try queue.contents(of: rest) == [1])
    }
}
