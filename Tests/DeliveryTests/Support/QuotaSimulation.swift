import System

@testable import Delivery
@testable import Sandbox

/// Clients with always something to send against a server with a quota, in simulated time. The
/// bucket is the sandbox's; the clients' gate is the real one.
struct QuotaSimulation {
    struct Setup: Sendable {
        /// Units a second: requests, or bytes.
        var rate = 50.0
        var counts = Quota.requests
        /// Whether the refusal tells what was counted.
        var isTold = true
        var latency: Duration = .milliseconds(50)
        /// The part of the latency that chance adds.
        var jitter = 0.1
        var clients = 1
        /// In flight at most, of one client.
        var places = 16
        var seconds = 30
        /// Another rate from then on.
        var change: (second: Int, rate: Double)?
        /// Packets as small and as large as this, any size alike.
        var bytes: ClosedRange<Double> = 1e5...1e5
        /// A size of a client's first so many packets, which are others than the rest.
        var first: (count: Int, bytes: Double)?
        /// So many packets each client has; without it always one more.
        var backlog: Int?
        /// What refuses besides the bucket: the how manieth request it is, from 1, and when it
        /// came.
        var refuses: (@Sendable (_ number: Int, _ second: Double, _ chance: Double) -> Bool)?
        /// How late a client wakes up.
        var tick: Duration = .milliseconds(1)
        var seed: UInt64 = 1
    }

    struct Second {
        var given = 0.0
        var taken = 0
        var refused = 0
        var units = 0.0
    }

    enum Event {
        case wake(Int)
        case arrival(Int, Gate.Pass, bytes: Int, back: Duration)
        case answer(Int, Gate.Pass, isTaken: Bool)
        case change(Double)
    }

    let setup: Setup
    private var random: SeededRandom
    private var bucket: TokenBucket
    private var gates: [Gate]
    private var isAwake: [Bool]
    private var events = PriorityQueue<Moment, Event>()
    private(set) var seconds: [Second]
    /// When each request came, in seconds, and what became of it.
    private(set) var requests: [(second: Double, isTaken: Bool)] = []
    private var left: [Int]
    private var sent: [Int]

    private static let start = Moment(nanoseconds: 1_000_000_000_000)

    init(_ setup: Setup) {
        self.setup = setup
        random = SeededRandom(seed: setup.seed)
        bucket = TokenBucket(rate: setup.rate, at: Self.start)
        gates = Array(repeating: Gate(most: setup.places), count: setup.clients)
        isAwake = Array(repeating: true, count: setup.clients)
        left = Array(repeating: setup.backlog ?? .max, count: setup.clients)
        sent = Array(repeating: 0, count: setup.clients)
        seconds = Array(repeating: Second(given: setup.rate), count: setup.seconds)
    }

    mutating func run() {
        for client in gates.indices { events.add(.wake(client), at: Self.start) }
        if let change = setup.change {
            events.add(.change(change.rate), at: Self.start + .seconds(change.second))
        }
        let end = Self.start + .seconds(setup.seconds)
        while let now = events.nextKey, now < end, let event = events.takeFirst()?.element {
            handle(event, now)
        }
    }

    private mutating func handle(_ event: Event, _ now: Moment) {
        let second = Int((now - Self.start) / .seconds(1))
        switch event {
        case .wake(let client):
            isAwake[client] = false
            send(client, now)
        case .arrival(let client, let pass, let bytes, let back):
            let units = setup.counts == .bytes ? Double(bytes) : 1
            let isTaken = takes(units, now)
            if !isTaken { left[client] += setup.backlog == nil ? 0 : 1 }
            if isTaken { seconds[second].units += units }
            if isTaken { seconds[second].taken += 1 } else { seconds[second].refused += 1 }
            events.add(.answer(client, pass, isTaken: isTaken), at: now + back)
        case .answer(let client, let pass, let isTaken):
            let quota = setup.isTold ? setup.counts : .unknown
            _ = gates[client].leave(
                pass,
                isTaken ? .stored : .overQuota(quota),
                now,
                random: random.fraction()
            )
            send(client, now)
        case .change(let rate):
            bucket = TokenBucket(rate: rate, at: now)
            for index in second..<seconds.count { seconds[index].given = rate }
        }
    }

    private mutating func takes(_ units: Double, _ now: Moment) -> Bool {
        let second = (now - Self.start) / .seconds(1)
        let isRefused = setup.refuses?(requests.count + 1, second, random.fraction()) ?? false
        let isTaken = !isRefused && bucket.take(units, at: now)
        requests.append((second, isTaken))
        return isTaken
    }

    private mutating func size(_ client: Int) -> Int {
        let share = random.fraction()
        sent[client] += 1
        if let first = setup.first, sent[client] <= first.count { return Int(first.bytes) }
        return Int(setup.bytes.lowerBound + share * setup.bytes.length)
    }

    private mutating func send(_ client: Int, _ now: Moment) {
        while left[client] > 0, gates[client].permits(now) {
            if setup.backlog != nil { left[client] -= 1 }
            let bytes = size(client)
            let way = setup.latency * (0.5 + 0.5 * setup.jitter * random.fraction())
            let pass = gates[client].enter(now, bytes: bytes)
            events.add(.arrival(client, pass, bytes: bytes, back: way), at: now + way)
        }
        guard left[client] > 0, !isAwake[client] else { return }
        guard let next = gates[client].nextOpening else { return }
        isAwake[client] = true
        events.add(.wake(client), at: max(next, now) + setup.tick * random.fraction())
    }
}

extension QuotaSimulation {
    struct Result {
        let achieved: Double
        let wasted: Double
    }

    /// Runs it, and tells what it achieved from that second on.
    static func result(_ setup: Setup, from first: Int) -> Result {
        var simulation = QuotaSimulation(setup)
        simulation.run()
        let part = simulation.seconds[first...]
        let taken = part.reduce(0) { $0 + $1.taken }
        let refused = part.reduce(0) { $0 + $1.refused }
        return Result(
            achieved: part.reduce(0) { $0 + $1.units } / part.reduce(0) { $0 + $1.given },
            wasted: Double(refused) / Double(max(taken + refused, 1))
        )
    }
}

extension ClosedRange<Double> {
    fileprivate var length: Double { upperBound - lowerBound }
}
