import Synchronization
import System

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
        guard burst.load(ordering: .relaxed) != pace.burst else { return }
        guard burst.exchange(pace.burst, ordering: .relaxed) != 0 else { return }
        _ = fullAt.min(pace.allUsed(at: now), ordering: .relaxed)
    }
}
