import Configuration

extension Backoff {
    /// For asking again after a credential that was missing.
    static let credential = Backoff(first: .seconds(1), longest: .seconds(30))

    /// The longest wait after that many failures in a row.
    func window(after failures: Int) -> Duration {
        if rests(after: failures) { return longest }
        // 2^20 times the first wait is beyond any sensible longest one, and far from an overflow.
        let doublings = min(max(failures, 1) - 1, 20)
        return min(longest, first * (1 << doublings))
    }

    /// True when the tries are used up, the first failure not counted.
    func rests(after failures: Int) -> Bool { times.map { failures > $0 } ?? false }

    /// A point of the window; `random` is from 0 to 1.
    func wait(after failures: Int, random: Double) -> Duration {
        rests(after: failures) ? longest : window(after: failures) * random
    }
}
