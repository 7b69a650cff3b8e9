/// The wait of a source after failures in a row.
struct RetryPace {
    /// Temporary failures are retried soon, at a random point of a growing window, so that many gateways do not return
    /// together.
    private static let soon: (first: Duration, longest: Duration) = (.seconds(1), .seconds(300))
    /// Permanent failures need a person's action, so they are retried less often.
    private static let later: (first: Duration, longest: Duration) = (.seconds(60), .seconds(600))

    static func window(_ kind: SourceProblem.Kind, after failures: Int) -> Duration {
        let pace = kind == .temporary ? soon : later
        // 2^20 times the first wait exceeds the longest wait and is far from an overflow.
        return min(pace.longest, pace.first * (1 << min(max(failures, 1) - 1, 20)))
    }

    static func wait(_ kind: SourceProblem.Kind, after failures: Int, random: Double) -> Duration {
        let window = window(kind, after: failures)
        return kind == .temporary ? window * random : window / 2 + window / 2 * random
    }
}
