package import Configuration
import System

/// An allowance in terms of one number: the moment at which all of it is there again (GCRA, the generic cell rate
/// algorithm of ITU-T I.371, which calls it the theoretical arrival time). To take some puts that moment off, and
/// nothing fits that would put it off beyond what a burst takes to come back.
package struct RateBudget: Sendable, Equatable {
    enum Judgement: Equatable {
        /// All will be there again at this moment.
        case fits(fullAt: Int64)
        case wait(Duration)
    }

    /// So far beyond now that nothing is ever reached; sums of two still fit.
    private static let longest: Int64 = 1 << 61

    private let amount: UInt64
    private let period: UInt64
    /// What the largest burst takes to come back.
    private(set) var burst: Int64 = 0

    /// A burst has `burstMin` at least, for what cannot come in parts.
    package init(_ allowance: Allowance, burstMin: Int = 1) {
        amount = UInt64(allowance.amount)
        period = UInt64(allowance.period.rawValue) * 1_000_000_000
        // What is lost by rounding, one unit after the other, must not cost the last of them its place.
        let lost = period % amount == 0 ? 0 : min(amount, period / 1000)
        burst = max(cost(of: burstMin), Int64(period + lost))
    }

    /// The nanoseconds in which so much comes back, rounded up: what is lost by that is lost to the client.
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

    /// Where it stands when nothing is left and nothing is owed.
    func allUsed(at now: Moment) -> Int64 { now.nanoseconds + burst }

    /// Where taking leads, whether it fits or not.
    func fullAt(after seen: Int64, taking units: Int, at now: Moment) -> Int64 {
        min(max(seen, now.nanoseconds) + cost(of: units), Self.longest)
    }
}
