import Configuration
import Glibc
import System
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(10))) struct MeterTests {
    private static let start = Moment(nanoseconds: 5_000_000_000)

    @Test("What is written together may come at once, and then as it comes back")
    func boundary() {
        let (meter, pace) = (Meter(), RateBudget(Allowance(4)))
        for _ in 0..<4 { #expect(meter.take(1, pace, at: Self.start) == nil) }
        #expect(meter.take(1, pace, at: Self.start) == .milliseconds(250))
        let nearly = Self.start + .nanoseconds(249_999_999)
        #expect(meter.take(1, pace, at: nearly) == .nanoseconds(1))
        #expect(meter.take(1, pace, at: Self.start + .milliseconds(250)) == nil)
        #expect(meter.take(1, pace, at: Self.start + .milliseconds(250)) == .milliseconds(250))
        // No more after a long silence than at first.
        let later = Self.start + .seconds(1000)
        for _ in 0..<4 { #expect(meter.take(1, pace, at: later) == nil) }
        #expect(meter.take(1, pace, at: later) != nil)
    }

    @Test("The same average has larger bursts over a longer time")
    func periods() {
        for (period, count) in [(Allowance.Period.second, 5), (.minute, 300), (.hour, 18_000)] {
            let (meter, pace) = (Meter(), RateBudget(Allowance(count, per: period)))
            #expect(meter.take(count, pace, at: Self.start) == nil)
            #expect(meter.take(1, pace, at: Self.start) == .milliseconds(200))
        }
    }

    @Test("The largest body fits into any budget of bytes, one at a time")
    func largest() {
        let (meter, pace) = (Meter(), RateBudget(Allowance(1000), burstMin: 10_000))
        #expect(meter.take(10_000, pace, at: Self.start) == nil)
        #expect(meter.take(10_000, pace, at: Self.start) == .seconds(10))
        #expect(meter.take(10_001, pace, at: Self.start + .seconds(1000)) == .milliseconds(1))
    }

    @Test("All or nothing is taken, and to ask takes nothing")
    func asked() {
        let (meter, pace) = (Meter(), RateBudget(Allowance(10)))
        #expect(meter.take(8, pace, at: Self.start) == nil)
        #expect(meter.take(3, pace, at: Self.start) == .milliseconds(100))
        for _ in 0..<3 { #expect(meter.wait(for: 2, pace, at: Self.start) == nil) }
        #expect(meter.wait(for: 3, pace, at: Self.start) == .milliseconds(100))
        #expect(meter.take(2, pace, at: Self.start) == nil)
        #expect(meter.take(0, pace, at: Self.start) == nil)
        #expect(meter.wait(for: 1, pace, at: Self.start) == .milliseconds(100))
    }

    @Test("A wait does not outlast the pace that it was for, and a debt not the change of it")
    func replaced() {
        let (meter, slow, fast) = (
            Meter(), RateBudget(Allowance(100, per: .hour)), RateBudget(Allowance(200))
        )
        meter.charge(1000, slow, at: Self.start)
        #expect(meter.wait(for: 1, slow, at: Self.start) == .seconds(9 * 3600 + 36))
        #expect(meter.take(1, fast, at: Self.start) == .milliseconds(5))
        #expect(meter.take(1, fast, at: Self.start + .milliseconds(5)) == nil)
        // What the same pace is owed stays.
        meter.charge(2000, fast, at: Self.start)
        #expect(meter.take(1, fast, at: Self.start)! > .seconds(10))
        // All of the faster one is less than all of the slower one.
        #expect(meter.take(1, slow, at: Self.start) == nil)
    }

    @Test("A debt is made good before anything else fits")
    func debt() {
        let (meter, pace) = (Meter(), RateBudget(Allowance(10)))
        meter.charge(25, pace, at: Self.start)
        #expect(meter.take(0, pace, at: Self.start) == .milliseconds(1500))
        #expect(meter.take(1, pace, at: Self.start) == .milliseconds(1600))
        #expect(meter.take(1, pace, at: Self.start + .milliseconds(1600)) == nil)
    }

    @Test("Nothing overflows, however much is asked of however little")
    func extremes() {
        for allowance in [Allowance(1, per: .hour), Allowance(1 << 40), Allowance(.max)] {
            let pace = RateBudget(allowance, burstMin: 1 << 30)
            for units in [0, 1, 1 << 30, .max] {
                let meter = Meter()
                _ = meter.take(units, pace, at: Self.start)
                meter.charge(units, pace, at: Self.start)
                meter.charge(units, pace, at: Moment(nanoseconds: .max / 4))
                _ = meter.take(units, pace, at: Moment(nanoseconds: .max / 4))
            }
        }
    }

    @Test("What cannot be divided evenly is all there, and never more")
    func rounding() {
        for amount in [1, 3, 7, 11, 999, 29_999] {
            let (meter, pace) = (Meter(), RateBudget(Allowance(amount)))
            var taken = 0
            while meter.take(1, pace, at: Self.start) == nil { taken += 1 }
            #expect(taken == amount)
            for second in 1...10 {
                let now = Self.start + .seconds(second)
                while meter.take(1, pace, at: now) == nil { taken += 1 }
            }
            // One in a second may be lost by rounding.
            #expect(taken <= amount * 11 && taken >= amount * 11 - 11)
        }
    }

    @Test("Four threads together never get more than there is, and all of that")
    func concurrent() throws {
        let (meter, pace, taken) = (Meter(), RateBudget(Allowance(1000)), CounterList(count: 2))
        let workers = try (0..<4).map { index in
            try Worker("taker-\(index)") {
                // The clock of each goes on by itself: together they go through two seconds.
                for step in 0..<20_000 {
                    let now = Self.start + .microseconds(step * 100)
                    if meter.take(1, pace, at: now) == nil { taken.add(1, at: 0) }
                }
            }
        }
        for worker in workers { worker.join() }
        #expect(taken[0] <= 3000)
        #expect(taken[0] >= 2990)
    }
}
