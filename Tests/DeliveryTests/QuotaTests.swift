import System
import TestSupport
import Testing

@testable import Delivery

/// What a gate makes of a quota, in simulated time against the sandbox's bucket.
@Suite struct QuotaTests {
    typealias Setup = QuotaSimulation.Setup

    struct Case: CustomTestStringConvertible, Sendable {
        var setup: Setup
        var testDescription: String {
            let change = setup.change.map { " then \($0.rate)" } ?? ""
            return "\(setup.rate)\(change)/s \(setup.counts), \(setup.latency), "
                + "\(setup.clients) clients, \(setup.bytes) bytes, told \(setup.isTold)"
        }
    }

    /// Enough places for the quota to be what limits.
    static func places(_ rate: Double, _ milliseconds: Int) -> Int {
        16 + Int(rate * Double(milliseconds) / 1000 * 1.3)
    }

    static let steady: [Case] = [1, 2].flatMap { clients in
        [5.0, 50, 500].flatMap { rate in
            [1, 50, 500].map { latency in
                var setup = Setup()
                setup.rate = rate
                setup.latency = .milliseconds(latency)
                setup.places = places(rate, latency)
                setup.clients = clients
                return Case(setup: setup)
            }
        }
    }

    static let changing: [Case] = [
        (50.0, 500.0), (500, 50), (5, 50), (50, 5), (50, 100), (100, 50),
    ]
    .flatMap { before, after in
        [1, 50].map { latency in
            var setup = Setup()
            setup.rate = before
            setup.change = (15, after)
            setup.latency = .milliseconds(latency)
            setup.places = places(max(before, after), latency)
            setup.seconds = 45
            return Case(setup: setup)
        }
    }

    static let byBytes: [Case] = [5e6, 50e6].flatMap { rate in
        [1048576.0...1048576, 1e4...1e6, 1e3...2e5].flatMap { bytes in
            [1, 50].map { latency in
                var setup = Setup()
                setup.rate = rate
                setup.counts = .bytes
                setup.bytes = bytes
                setup.latency = .milliseconds(latency)
                setup.places = places(rate / bytes.upperBound * 3, latency)
                return Case(setup: setup)
            }
        }
    }

    static let untold: [Case] = (steady.prefix(9) + byBytes).map { example in
        var setup = example.setup
        setup.isTold = false
        return Case(setup: setup)
    }

    /// From that second on, or in the whole.
    func expect(
        _ example: Case,
        from second: Int = 0,
        achieved: Double,
        wasted: Double
    ) {
        let result = QuotaSimulation.result(example.setup, from: second)
        #expect(result.achieved >= achieved, "from second \(second)")
        #expect(result.wasted <= wasted, "from second \(second)")
    }

    @Test("A quota is used up, and few requests are wasted on it", arguments: steady)
    func usesUp(example: Case) {
        // Of so few requests the first refusals, which tell no rate, are a large part.
        let isCorner = example.setup.clients == 2 && example.setup.rate == 5
        expect(example, achieved: 0.93, wasted: isCorner ? 0.15 : 0.12)
        expect(example, from: 3, achieved: 0.93, wasted: 0.10)
    }

    @Test(
        "One client wastes next to nothing",
        arguments: steady.filter {
            $0.setup.clients == 1 && $0.setup.rate > 5
                && $0.setup.latency <= .milliseconds(50)
        }
    )
    func economy(example: Case) {
        expect(example, achieved: 0.99, wasted: 0.02)
        expect(example, from: 3, achieved: 0.99, wasted: 0.01)
    }

    @Test(
        "Two clients that share a few requests a second waste less than a tenth once they know it",
        arguments: [1, 50, 500]
    )
    func fewForTwo(milliseconds: Int) {
        // Of so few requests one refusal more is much, so that chance has to be averaged out.
        let seeds: ClosedRange<UInt64> = 1...20
        for (second, wasted) in [(0, 0.13), (3, 0.08)] {
            let results = seeds.map { seed in
                var setup = Setup()
                setup.rate = 5
                setup.clients = 2
                setup.latency = .milliseconds(milliseconds)
                setup.places = Self.places(5, milliseconds)
                setup.seed = seed
                return QuotaSimulation.result(setup, from: second)
            }
            #expect(results.reduce(0) { $0 + $1.wasted } / 20 < wasted)
            #expect(results.allSatisfy { $0.achieved > 0.93 })
        }
    }

    @Test("Another rate is found within seconds", arguments: changing)
    func finds(example: Case) {
        expect(example, achieved: 0.75, wasted: 0.05)
        expect(example, from: 25, achieved: 0.93, wasted: 0.05)
    }

    @Test("A limit of bytes is kept by bytes, however large packets are", arguments: byBytes)
    func keepsBytes(example: Case) {
        expect(example, achieved: 0.93, wasted: 0.07)
        expect(example, from: 3, achieved: 0.93, wasted: 0.05)
    }

    @Test("Where the refusal does not name the limit, both limits are kept", arguments: untold)
    func keepsBoth(example: Case) {
        expect(example, achieved: 0.93, wasted: 0.07)
        expect(example, from: 3, achieved: 0.93, wasted: 0.07)
    }
}
