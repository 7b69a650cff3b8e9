package import Configuration
import Synchronization
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

/// The used part of a budget. All loops take from it without a lock, and never more than there is
/// together.
final class Meter: Sendable {
    /// The moment at which the budget is full again; see `RateBudget`.
    private let fullAt = Atomic<Int64>(0)
    /// The burst of the current budget; 0 before the first use.
    private let burst = Atomic<Int64>(0)

    /// Takes all or nothing. Returns the wait until it fits, nil when it was taken.
    func take(_ units: Int, _ pace: RateBudget, at now: Moment) -> Duration? {
        adopt(pace, at: now)
        var seen = fullAt.load(ordering: .relaxed)
        while true {
            switch pace.judge(seen, taking: units, at: now) {
            case .wait(let time): return time
            case .fits(let after):
                let (isDone, found) = fullAt.weakCompareExchange(
                    expected: seen,
                    desired: after,
                    ordering: .relaxed
                )
                guard !isDone else { return nil }
                seen = found
            }
        }
    }

    /// Takes units that arrived already. May overdraw; the debt delays later requests.
    func charge(_ units: Int, _ pace: RateBudget, at now: Moment) {
        adopt(pace, at: now)
        var seen = fullAt.load(ordering: .relaxed)
        while true {
            let (isDone, found) = fullAt.weakCompareExchange(
                expected: seen,
                desired: pace.fullAt(after: seen, taking: units, at: now),
                ordering: .relaxed
            )
            guard !isDone else { return }
            seen = found
        }
    }

    /// The wait until so many units fit, nil when they do. Takes nothing.
    func wait(for units: Int, _ pace: RateBudget, at now: Moment) -> Duration? {
        adopt(pace, at: now)
        switch pace.judge(fullAt.load(ordering: .relaxed), taking: units, at: now) {
        case .fits: return nil
        case .wait(let time): return time
        }
    }

    /// Follows a reload that changed the budget. A sender that used up the old budget has used up
    /// the new one, and no more: a wait of an hour does not outlast the budget that caused it.
    private func adopt(_ pace: RateBudget, at now: Moment) {
        let before = burst.load(ordering: .acquiring)
        guard before != pace.burst else { return }
        // First: who finds the new burst must find no debt of the old one.
        if before != 0 { _ = fullAt.min(pace.allUsed(at: now), ordering: .relaxed) }
        burst.store(pace.burst, ordering: .releasing)
    }
}
