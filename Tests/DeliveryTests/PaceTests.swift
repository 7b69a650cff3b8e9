import System
import TestSupport
import Testing

@testable import Delivery

/// A pace on its own, where no bucket is behind it.
@Suite struct PaceTests {
    static let start = Moment(nanoseconds: 1_000_000_000_000)

    /// A client that sends whenever it may, answered at once, to something that decides by the
    /// time.
    struct Run {
        var pace = Pace()
        var now = PaceTests.start
        var taken = 0
        var refused = 0

        var seconds: Double { (now - PaceTests.start) / .seconds(1) }

        /// `gap` is how long it has nothing to send after each request.
        mutating func send(
            until end: Double,
            gap: Duration = .milliseconds(1),
            takes: (_ second: Double, _ takenSoFar: Int) -> Bool
        ) {
            while seconds < end {
                let ticket = pace.sent(1, now)
                now = now + .milliseconds(1)
                if takes(seconds, taken) {
                    taken += 1
                    pace.stored(1, ticket, now)
                } else {
                    refused += 1
                    pace.refused(ticket, now, random: 0.5)
                }
                now = max(now + gap, pace.next)
            }
        }
    }

    @Test("Answers to smaller packets in flight do not free a pace that a huge one proves wrong")
    func inFlight() {
        var pace = Pace()
        var now = Moment.now
        for _ in 0..<10 {
            let ticket = pace.sent(100_000, now)
            now = now + .milliseconds(50)
            pace.stored(100_000, ticket, now)
        }
        pace.refused(pace.sent(100_000, now), now, random: 0.5)
        let others = (0..<3).map { _ in pace.sent(100_000, now) }
        let huge = pace.sent(100_000_000, now)
        now = now + .milliseconds(100)
        pace.stored(100_000_000, huge, now)
        for ticket in others { pace.stored(100_000, ticket, now) }
        #expect(pace.isEngaged)
    }

    @Test("A pace without refusals is never slowed down")
    func free() {
        var run = Run()
        run.send(until: 5) { _, _ in true }
        #expect(!run.pace.isEngaged)
        #expect(run.taken == 2500)
    }

    @Test("A quota counted by the second or by the minute is used up, too", arguments: [1, 10, 60])
    func windows(length: Int) {
        var run = Run()
        var window = -1
        var left = 0
        run.send(until: 600) { second, _ in
            if Int(second) / length != window {
                window = Int(second) / length
                left = 50 * length
            }
            left -= 1
            return left >= 0
        }
        #expect(Double(run.taken) > 0.85 * 50 * 600)
        #expect(Double(run.refused) < 0.06 * Double(run.taken))
    }

    @Test(
        "A server that takes nothing is asked every few seconds, and used as soon as it takes again"
    )
    func nothing() {
        var run = Run()
        run.send(until: 10) { second, _ in second < 1 }
        let before = run.refused
        run.send(until: 600) { _, _ in false }
        #expect(run.refused - before < 70)
        #expect(run.refused - before > 50)
        let taken = run.taken
        run.send(until: 630) { _, _ in true }
        #expect(run.taken - taken > 1000)
    }

    @Test("Where little is sent, the pace neither rises nor falls")
    func littleDemand() throws {
        var run = Run()
        var bucket = 50.0
        var last = 0.0
        let takes = { (second: Double, _: Int) -> Bool in
            bucket = min(50, bucket + (second - last) * 50)
            last = second
            guard bucket >= 1 else { return false }
            bucket -= 1
            return true
        }
        run.send(until: 20, takes: takes)
        let before = try #require(run.pace.rate(run.now))
        run.send(until: 60, gap: .milliseconds(100), takes: takes)
        let after = try #require(run.pace.rate(run.now))
        #expect(abs(after - before) < 0.2 * before)
        let refused = run.refused
        run.send(until: 90, takes: takes)
        #expect(run.refused - refused < 30)
    }

    @Test("Without a refusal for a minute it is free again")
    func disengages() {
        var run = Run()
        run.send(until: 10) { second, _ in second < 1 || second > 1.2 }
        #expect(run.pace.isEngaged)
        run.send(until: 75, gap: .milliseconds(200)) { _, _ in true }
        #expect(!run.pace.isEngaged)
    }

    @Test("A huge packet makes the next one wait for ten seconds at most")
    func hugePacket() {
        var pace = Pace()
        var now = Self.start
        for _ in 1...20 {
            let ticket = pace.sent(1000, now)
            pace.stored(1000, ticket, now)
        }
        pace.refused(pace.sent(1000, now), now, random: 0.5)
        now = now + .seconds(1)
        _ = pace.sent(10_000_000, now)
        #expect(pace.next - now == .seconds(10))
    }
}

/// Refusals for a quota before anything is known of it, in simulated time: they cost a short wait,
/// and no pace that is guessed.
@Suite struct EarlyRefusalTests {
    typealias Setup = QuotaSimulation.Setup

    /// A gateway with a backlog of large packets behind a few small ones, and no quota but what
    /// refuses.
    static func setup(_ milliseconds: Int, packets: Int) -> Setup {
        var setup = Setup()
        setup.rate = 1e12
        setup.isTold = false
        setup.latency = .milliseconds(milliseconds)
        setup.seconds = 200
        setup.backlog = packets
        setup.first = (count: 3, bytes: 200)
        setup.bytes = 1e6...1e6
        return setup
    }

    static func run(_ setup: Setup) -> QuotaSimulation {
        var simulation = QuotaSimulation(setup)
        simulation.run()
        return simulation
    }

    @Test(
        "After one refusal the next attempt comes within a second, and the backlog flows",
        arguments: [1, 50],
        [1, 16]
    )
    func first(milliseconds: Int, places: Int) throws {
        var setup = Self.setup(milliseconds, packets: 200)
        setup.places = places
        setup.refuses = { number, _, _ in number == 1 }
        let simulation = Self.run(setup)
        let taken = simulation.requests.filter(\.isTaken).map(\.second)
        #expect(simulation.requests[1].second < 1)
        #expect(taken.count == 200)
        let rounds = Double(200 / places)
        let atBest: Double = rounds * Double(milliseconds) / 1000
        let last = try #require(taken.last)
        #expect(last < 3 + 2 * atBest)
    }

    @Test("A lone packet after a while is not delayed by earlier ones")
    func idle() throws {
        var pace = Pace()
        var now = PaceTests.start
        pace.refused(pace.sent(100, now), now, random: 1)
        for size in [100.0, 1e6, 1e6, 100] {
            now = max(now, pace.next)
            let ticket = pace.sent(size, now)
            pace.stored(size, ticket, now + .milliseconds(1))
            now = now + .seconds(5)
            #expect(pace.next <= now)
        }
    }

    @Test("Five refusals in a row are over in seconds, one by one in a quarter of a minute")
    func five() throws {
        var setup = Self.setup(50, packets: 200)
        setup.refuses = { number, _, _ in number <= 5 }
        let together = Self.run(setup).requests.filter(\.isTaken)
        #expect(together.count == 200)
        #expect(try #require(together.last?.second) < 5)
        setup.places = 1
        let single = Self.run(setup).requests.filter(\.isTaken)
        #expect(try #require(single.first?.second) < 15)
    }

    @Test(
        "A server that refuses all is asked less and less often, and used as soon as it takes again"
    )
    func closed() throws {
        var setup = Self.setup(50, packets: 2000)
        setup.refuses = { _, second, _ in second < 60 }
        let requests = Self.run(setup).requests
        let refused = requests.prefix { !$0.isTaken }
        #expect(refused.count < 16)
        let reopened = requests[refused.count].second
        #expect(reopened < 71)
        #expect(requests.count - refused.count == 2000)
        #expect(try #require(requests.last?.second) < reopened + 20)
    }

    @Test(
        "Ten requests a second of a backlog of ten thousand packets: few are wasted, all is used",
        arguments: [1, 50]
    )
    func sustained(milliseconds: Int) {
        var setup = Setup()
        setup.rate = 10
        setup.isTold = false
        setup.latency = .milliseconds(milliseconds)
        setup.backlog = 10_000
        setup.seconds = 1100
        let requests = Self.run(setup).requests
        let taken = requests.filter(\.isTaken)
        #expect(taken.count == 10_000)
        #expect((taken.last?.second ?? .infinity) < 1020)
        #expect(Double(requests.count - taken.count) < 0.04 * Double(requests.count))
    }

    @Test(
        "When a quota ends the backlog flows within a quarter of a minute",
        arguments: [2.0, 10, 50]
    )
    func ends(rate: Double) throws {
        var setup = Setup()
        setup.rate = rate
        setup.isTold = false
        setup.latency = .milliseconds(1)
        setup.backlog = 3000
        setup.seconds = 200
        setup.change = (20, 1e9)
        let requests = Self.run(setup).requests
        #expect(requests.count { $0.isTaken } == 3000)
        #expect(try #require(requests.last?.second) < 40)
    }

    @Test("Refusals by chance leave no pace of a minute", arguments: 1...8 as ClosedRange<UInt64>)
    func chance(seed: UInt64) throws {
        var setup = Self.setup(1, packets: 3000)
        setup.seed = seed
        setup.refuses = { _, second, chance in second < 10 && chance < 0.4 }
        let requests = Self.run(setup).requests
        #expect(requests.count { $0.isTaken } == 3000)
        #expect(try #require(requests.last?.second) < 55)
    }
}
