import Synchronization
import System

/// What is used of an allowance. All loops take from it, without a lock, and together never more than there is.
final class Meter: Sendable {
    /// As `RateBudget` has it, on the clock of `Moment`.
    private let fullAt = Atomic<Int64>(0)
    /// Of the pace that it goes by; 0 before there was one.
    private let burst = Atomic<Int64>(0)

    /// Takes all of it or nothing: how long until it fits, nil when it has.
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

    /// Takes what has come already, and so may leave less than nothing: others wait until that is made good.
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

    /// How long until so much fits, nil when it does. Nothing is taken.
    func wait(for units: Int, _ pace: RateBudget, at now: Moment) -> Duration? {
        adopt(pace, at: now)
        switch pace.judge(fullAt.load(ordering: .relaxed), taking: units, at: now) {
        case .fits: return nil
        case .wait(let time): return time
        }
    }

    /// A reload may have changed the pace. Whoever had used up all at the old one has used up all at the new one, and
    /// no more: a wait of an hour does not outlast the budget that it was for.
    private func adopt(_ pace: RateBudget, at now: Moment) {
        guard burst.load(ordering: .relaxed) != pace.burst else { return }
        guard burst.exchange(pace.burst, ordering: .relaxed) != 0 else { return }
        _ = fullAt.min(pace.allUsed(at: now), ordering: .relaxed)
    }
}
