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
