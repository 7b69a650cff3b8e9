package import Configuration
import System

/// A budget as one number: the moment at which all of it is there again (GCRA, the generic cell
/// rate algorithm of ITU-T I.371, which calls it the theoretical arrival time). Taking moves this
/// moment. A request does not fit if it would move the moment further than a whole burst takes to
/// come back.
package struct RateBudget: Sendable, Equatable {
    enum Judgement: Equatable {
        /// The budget is full again at this moment.
        case fits(fullAt: Int64)
        case wait(Duration)
    }

    /// Beyond any reachable moment; the sum of two does not overflow.
    private static let longest: Int64 = 1 << 61

    private let amount: UInt64
    private let period: UInt64
    /// The time in which the largest burst comes back.
    private(set) var burst: Int64 = 0

    /// A burst holds at least `burstMin` units, so that the largest indivisible request fits.
    package init(_ allowance: Allowance, burstMin: Int = 1) {
        amount = UInt64(allowance.amount)
        period = UInt64(allowance.period.rawValue) * 1_000_000_000
        // Rounding, one unit after the other, must not cost the last unit its place.
        let lost = period % amount == 0 ? 0 : min(amount, period / 1000)
        burst = max(cost(of: burstMin), Int64(period + lost))
    }

    /// The nanoseconds in which so many units come back, rounded up at the client's expense.
    func cost(of units: Int) -> Int64 {
        let (high, low) = UInt64(max(0, units)).multipliedFullWidth(by: period)
        guard high < amount else { return Self.longest }
        let (quotient, remainder) = amount.dividingFullWidth((high, low))
        return Int64(min(quotient, UInt64(Self.longest))) + (remainder > 0 ? 1 : 0)
    }

    func judge(_ seen: Int64, taking units: Int, at now: Moment) -> Judgement {
        let after = fullAt(after: seen, taking: units, at: now)
        let excess = after - now.nanoseconds - burst
        return excess <= 0 ? .fits(fullAt: after) : .wait(.nanoseconds(excess))
    }

    /// The state of a budget that is empty and has no debt.
    func allUsed(at now: Moment) -> Int64 { now.nanoseconds + burst }

    /// The state after taking, whether the units fit or not.
    func fullAt(after seen: Int64, taking units: Int, at now: Moment) -> Int64 {
        min(max(seen, now.nanoseconds) + cost(of: units), Self.longest)
    }
}
