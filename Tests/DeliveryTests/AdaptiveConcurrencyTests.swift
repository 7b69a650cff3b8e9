import Glibc
import System
import TestSupport
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(10))) struct AdaptiveConcurrencyTests {
    /// A server at a distance that stores so many packets a second.
    struct Server {
        var concurrency = AdaptiveConcurrency(usual: 8, most: 128)
        var distance: Duration
        var perSecond: Double
        var now = GateTests.start
        /// When it has stored all that it was sent.
        private var free = GateTests.start
        private var inFlight: [(sent: Moment, answered: Moment)] = []

        init(distance: Duration, perSecond: Double = 1e9) {
            (self.distance, self.perSecond) = (distance, perSecond)
        }

        /// As many are in flight as may be, for that time.
        mutating func answers(for time: Duration, isShort: Bool = true) {
            let end = now + time
            while now < end {
                while inFlight.count < concurrency.width {
                    free = max(free, now) + .seconds(1) / perSecond
                    inFlight.append((now, max(now + distance, free)))
                }
                let (sent, answered) = inFlight.removeFirst()
                now = answered
                concurrency.stored(sent: sent, isShort: isShort, now)
            }
        }
    }

    @Test("It grows while packets wait only for a place, and only then")
    func growth() {
        var server = Server(distance: .milliseconds(50))
        server.answers(for: .seconds(10), isShort: false)
        #expect(server.concurrency.width == 8)
        server.answers(for: .seconds(1))
        #expect(server.concurrency.width == 128)
    }

    @Test(
        "A server that has enough to do gets at most four times what fills it",
        arguments: [(1, 100.0), (50, 400.0), (100, 200.0)]
    )
    func busy(milliseconds: Int, perSecond: Double) {
        let distance = Duration.milliseconds(milliseconds)
        var server = Server(distance: distance, perSecond: perSecond)
        let filling = Int(perSecond * (distance / .seconds(1)))
        for _ in 1...60 {
            server.answers(for: .seconds(5))
            #expect(server.concurrency.width <= 4 * max(8, filling))
        }
    }

    @Test("It is halved when answers take three times as long, down to the usual number")
    func slower() {
        var server = Server(distance: .milliseconds(50))
        server.answers(for: .seconds(1))
        server.perSecond = 160
        server.answers(for: .seconds(8))
        #expect(server.concurrency.width == 16)
    }

    @Test("A longer route is believed after two spans of half a minute at most")
    func route() {
        var server = Server(distance: .milliseconds(10))
        server.answers(for: .seconds(1), isShort: false)
        server.distance = .milliseconds(200)
        server.answers(for: .seconds(20))
        #expect(server.concurrency.width == 8)
        server.answers(for: .seconds(45))
        #expect(server.concurrency.width == 128)
    }

    @Test("It begins again when something refuses")
    func refused() {
        var server = Server(distance: .milliseconds(50))
        server.answers(for: .seconds(3))
        server.concurrency.startOver(server.now)
        #expect(server.concurrency.width == 8)
        server.answers(for: .seconds(3))
        #expect(server.concurrency.width == 128)
    }

    @Test("What an operator sets stays")
    func given() {
        var server = Server(distance: .milliseconds(50))
        server.concurrency = AdaptiveConcurrency(usual: 20, most: 20)
        server.answers(for: .seconds(5))
        #expect(server.concurrency.width == 20)
    }

    @Test(
        "A distant server gets more requests at a time than a near one, also after a reload",
        arguments: [false, true]
    )
    func distant(isReloaded: Bool) throws {
        let source = MemorySource()
        let inFlight = SharedValue((now: 0, most: 0))
        let server = try ScriptedServer { _, _ in
            inFlight.change {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            // The distance: long, so that a busy machine adds little to it.
            usleep(250_000)
            inFlight.change { $0.now -= 1 }
            return .stored
        }
        let rig = try Rig(source, server)
        if isReloaded { try rig.forwarder.use([try Samples.destination(port: server.port)]) }
        for number in 1...500 as ClosedRange<Int64> { source.offer(number) }
        #expect(inFlight.wait(.seconds(30).calibrated()) { $0.most >= 24 })
        rig.forwarder.stop(within: .zero)
        server.stop()
    }
}
