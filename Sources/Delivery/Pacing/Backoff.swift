/// How long to wait after failures: exponential with full jitter, so that what failed together does
/// not come back together.
package struct Backoff: Sendable, Equatable {
    package var first: Duration
    package var longest: Duration
    /// After so many tries comes a rest of the longest wait; nil for none.
    package var times: Int?

    package init(first: Duration, longest: Duration, times: Int? = nil) {
        self.first = first
        self.longest = longest
        self.times = times
    }

    /// The default of a destination's `retry`: the waits between probes of a closed gate. Also
    /// those between tries to read a packet that could not be read from the queue.
    package static let retry = Backoff(first: .milliseconds(100), longest: .seconds(60))
    /// For asking again after a credential that was missing.
    package static let credential = Backoff(first: .seconds(1), longest: .seconds(30))

    /// The longest wait after that many failures in a row.
    package func window(after failures: Int) -> Duration {
        if rests(after: failures) { return longest }
        // 2^20 times the first wait is beyond any sensible longest one, and far from an overflow.
        let doublings = min(max(failures, 1) - 1, 20)
        return min(longest, first * (1 << doublings))
    }

    /// True when the tries are used up, the first failure not counted.
    package func rests(after failures: Int) -> Bool { times.map { failures > $0 } ?? false }

    /// A point of the window; `random` is from 0 to 1.
    package func wait(after failures: Int, random: Double) -> Duration {
        rests(after: failures) ? longest : window(after: failures) * random
    }
}
