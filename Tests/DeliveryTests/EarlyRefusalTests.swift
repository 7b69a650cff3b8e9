import System
import TestSupport
import Testing

@testable import Delivery

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
