import Synchronization
import System

/// What is used of an allowance. All loops take from it, without a lock, and together never more than there is.
final class Meter: Sendable {
    /// As `Pace` has it, on the clock of `Moment`.
    private let fullAt = Atomic<Int64>(0)

    /// Takes all of it or nothing: how long until it fits, nil when it has.
    func take(_ units: Int, _ pace: Pace, at now: Moment) -> Duration? {
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

    /// Undoes a `take` that fitted.
    func giveBack(_ units: Int, _ pace: Pace) {
        fullAt.subtract(pace.cost(of: units), ordering: .relaxed)
    }

    /// Takes what has come already, and so may leave less than nothing: others wait until that is made good.
    func charge(_ units: Int, _ pace: Pace, at now: Moment) {
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

    /// How long until anything at all fits; nil when something does.
    func wait(_ pace: Pace, at now: Moment) -> Duration? {
        switch pace.judge(fullAt.load(ordering: .relaxed), taking: 1, at: now) {
        case .fits: nil
        case .wait(let time): time
        }
    }
}
