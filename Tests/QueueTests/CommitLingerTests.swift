import Queue
import System
import Testing

@testable import SQLiteQueue

@Suite struct CommitLingerTests {
    private static let start = Moment(nanoseconds: 1_000_000_000)

    /// A linger after a commit of so many requests that took half a millisecond and ended at
    /// `start`.
    private func linger(after requests: Int, longest: Duration = .milliseconds(2)) -> CommitLinger {
        var linger = CommitLinger(longest: longest, bytesEnough: 1 << 20)
        linger.committed(requests: requests, took: .microseconds(500), at: Self.start)
        return linger
    }

    @Test("The first request is committed at once")
    func first() {
        var linger = CommitLinger(longest: .milliseconds(2), bytesEnough: 1 << 20)
        #expect(linger.decide(requests: 1, bytes: 1, at: Self.start) == .commit(.alone))
    }

    @Test("A request long after the last commit is committed at once")
    func alone() {
        var linger = linger(after: 32)
        let later = Self.start + .milliseconds(2)
        #expect(linger.decide(requests: 1, bytes: 1, at: later) == .commit(.alone))
    }

    @Test("Without a linger every request is committed at once")
    func off() {
        var linger = linger(after: 32, longest: .zero)
        #expect(linger.decide(requests: 1, bytes: 1, at: Self.start) == .commit(.alone))
    }

    @Test(
        "A commit waits for nearly as many requests as the last one answered",
        arguments: [
            (2, 2), (8, 7), (32, 28), (512, 448),
        ]
    )
    func returned(of count: Int, expected: Int) {
        var linger = linger(after: count)
        let wait = CommitLinger.Decision.wait(.microseconds(500), requests: expected)
        #expect(linger.decide(requests: expected - 1, bytes: 1, at: Self.start) == wait)
        #expect(linger.decide(requests: expected, bytes: 1, at: Self.start) == .commit(.returned))
    }

    @Test("A single client in a loop never waits")
    func single() {
        var linger = linger(after: 1)
        #expect(linger.decide(requests: 1, bytes: 1, at: Self.start) == .commit(.returned))
    }

    @Test("Many bytes are committed at once")
    func bytes() {
        var linger = linger(after: 32)
        let decision = linger.decide(requests: 1, bytes: 1 << 20, at: Self.start)
        #expect(decision == .commit(.enoughBytes))
    }

    @Test("A wait ends when it has taken as long as a commit")
    func cost() {
        var linger = linger(after: 32)
        let began = Self.start + .microseconds(100)
        let wait = CommitLinger.Decision.wait(.microseconds(500), requests: 28)
        #expect(linger.decide(requests: 3, bytes: 1, at: began) == wait)
        let rest = CommitLinger.Decision.wait(.microseconds(200), requests: 28)
        #expect(linger.decide(requests: 9, bytes: 1, at: began + .microseconds(300)) == rest)
        let end = began + .microseconds(500)
        #expect(linger.decide(requests: 27, bytes: 1, at: end) == .commit(.waitTooLong))
    }

    @Test("On a slow disk a wait ends when the last commit is old enough")
    func slowDisk() {
        var linger = CommitLinger(longest: .milliseconds(2), bytesEnough: 1 << 20)
        linger.committed(requests: 32, took: .milliseconds(40), at: Self.start)
        let decision = linger.decide(requests: 3, bytes: 1, at: Self.start + .microseconds(500))
        #expect(decision == .wait(.microseconds(1500), requests: 28))
    }

    @Test("Other work waits for the commit of the next request")
    func otherWork() {
        var linger = linger(after: 32)
        let time = Self.start + .microseconds(500)
        let wait = CommitLinger.Decision.wait(.microseconds(1500), requests: 1)
        #expect(linger.decide(requests: 0, bytes: 0, at: time) == wait)
        let end = Self.start + .milliseconds(2)
        #expect(linger.decide(requests: 0, bytes: 0, at: end) == .commit(.otherWork))
    }

    @Test("A commit without requests says nothing about the clients")
    func commitOfOtherWork() {
        var linger = linger(after: 2)
        linger.committed(requests: 0, took: .microseconds(500), at: Self.start)
        #expect(linger.decide(requests: 1, bytes: 1, at: Self.start) != .commit(.returned))
        #expect(linger.decide(requests: 2, bytes: 1, at: Self.start) == .commit(.returned))
    }

    // MARK: - Simulations

    @Test(
        "Clients in a loop are served about as fast as by the best fixed linger",
        arguments: [
            1, 8, 32, 128, 512,
        ]
    )
    func closedLoops(of clients: Int) {
        let own = ClosedLoop.run(clients, by: .adaptive)
        let none = ClosedLoop.run(clients, by: .fixed(.zero))
        let fixed = ClosedLoop.run(clients, by: .fixed(.milliseconds(2)))
        #expect(own.answers * 100 >= max(none.answers, fixed.answers) * 95)
        // The gain is not bought with commits.
        #expect(own.commits <= none.commits)
    }

    @Test("After a burst the queue commits what came, and waits no longer than a commit takes")
    func burst() {
        var linger = linger(after: 512)
        var now = Self.start + .seconds(5)
        var (waits, commits) = (Duration.zero, 0)
        // 300 requests come at once, then 5 in each of four rounds, then none.
        for requests in [300, 5, 5, 5, 5] {
            var decision = linger.decide(requests: requests, bytes: 1, at: now)
            while case .wait(let time, _) = decision {
                waits += time
                now = now + time
                decision = linger.decide(requests: requests, bytes: 1, at: now)
            }
            now = now + .microseconds(500)
            linger.committed(requests: requests, took: .microseconds(500), at: now)
            commits += 1
        }
        #expect(commits == 5)
        // Only the round after the large one waits.
        #expect(waits == .microseconds(500))
    }
}

/// Clients that each send the next request after the answer to the last one, two loops that decode
/// requests, and the queue. Its commit takes half a millisecond and more for each request.
private struct ClosedLoop {
    enum Policy {
        case adaptive
        /// As long after the last commit.
        case fixed(Duration)
    }

    private let clients: Int
    private var now = Moment(nanoseconds: 1_000_000_000)
    private var arrivals = PriorityQueue<Moment, Void>()
    private var loops: [Moment]
    private var here = 0

    private static let roundTrip = Duration.microseconds(60)
    private static let decoding = Duration.microseconds(28)
    private static let commit = Duration.microseconds(500)
    private static let eachRequest = Duration.microseconds(30)

    private init(clients: Int) {
        self.clients = clients
        loops = [now, now]
    }

    static func run(_ clients: Int, by policy: Policy) -> (answers: Int, commits: Int) {
        var loop = ClosedLoop(clients: clients)
        return loop.run(by: policy)
    }

    private mutating func run(by policy: Policy) -> (answers: Int, commits: Int) {
        var linger = CommitLinger(longest: .milliseconds(2), bytesEnough: 1 << 20)
        var lastCommit: Moment?
        var (answers, commits) = (0, 0)
        let end = now + .seconds(1)
        send(clients)
        while now < end {
            arrive()
            if here == 0, let next = arrivals.nextKey {
                now = next
                arrive()
            }
            switch policy {
            case .adaptive:
                while case .wait(let time, let count) = linger.decide(
                    requests: here,
                    bytes: here * 14_000,
                    at: now
                ) { wait(time, until: count) }
            case .fixed(let time):
                if let lastCommit, here * 14_000 < 1 << 20 {
                    wait(max(.zero, time - (now - lastCommit)), until: (1 << 20) / 14_000)
                }
            }
            let taken = here
            here = 0
            now = now + Self.commit + Self.eachRequest * taken
            linger.committed(requests: taken, took: Self.commit, at: now)
            lastCommit = now
            send(taken)
            answers += taken
            commits += 1
        }
        return (answers, commits)
    }

    private mutating func send(_ count: Int) {
        for number in 0..<count {
            let loop = number % loops.count
            loops[loop] = max(loops[loop], now + Self.roundTrip) + Self.decoding
            arrivals.add((), at: loops[loop])
        }
    }

    private mutating func arrive() {
        while arrivals.takeFirst(upTo: now) != nil { here += 1 }
    }

    private mutating func wait(_ time: Duration, until count: Int) {
        let end = now + time
        while here < count, let next = arrivals.nextKey, next <= end {
            now = max(now, next)
            arrive()
        }
        if here < count { now = end }
    }
}
