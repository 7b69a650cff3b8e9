import Glibc
import System

/// The rate of one cycle between two refusals: it climbs from a little below what the server is
/// thought to take to a little above, so that the stretch below saves up what the stretch above
/// spends, and one refusal ends it. When none comes, the server takes more than thought, and the
/// climb gets steeper.
struct Climb: Equatable {
    /// The rate that the server is thought to take, in units a second.
    var allowed: Double
    /// When the cycle began.
    var began: Moment
    /// The part of `allowed` that it begins with.
    var from: Double

    /// The part of `allowed` that one cycle adds.
    static let span = 0.1
    static let low = 0.95
    /// In seconds: rare enough for refusals to cost little, and short enough to correct a rate that
    /// was measured wrong.
    static let longest = 15.0
    /// After a guess that was too high there is nothing to save up.
    static let level = 1.0

    /// How long the measured way takes: long enough for one refusal to be a small part of the
    /// requests, short enough to see a new limit soon. `request` is the usual size of one, in
    /// units; `latency` that of its answer, during which a climb learns nothing.
    static func seconds(allowed: Double, request: Double, latency: Double) -> Double {
        let one = request / allowed
        return min(longest, max(2, min(6, 30 * one), 20 * one, 6 * latency))
    }

    /// `length` is that of the measured way.
    func rate(_ now: Moment, cycle length: Double, latency: Double) -> Double {
        let passed = (now - began) / .seconds(1)
        let share = from + Self.span * min(passed / length, 1)
        let beyond = passed - length
        guard beyond > 0 else { return allowed * share }
        return allowed * share * exp(Self.growth(beyond, latency))
    }

    /// The logarithm of how many times more after so many seconds beyond the measured way: a square
    /// at first, then no steeper than twice as much in a few round trips.
    private static func growth(_ seconds: Double, _ latency: Double) -> Double {
        let bend = 0.25
        let steepest = log(2) / max(0.75, 2.5 * latency)
        let turn = steepest / (2 * bend)
        let growth =
            seconds < turn
            ? bend * seconds * seconds
            : bend * turn * turn + steepest * (seconds - turn)
        return min(growth, 20)
    }
}
