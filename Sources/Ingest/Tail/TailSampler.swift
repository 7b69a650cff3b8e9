import System

/// Chooses which logs a viewer sees who wants so many a second: spread over all that come, not the
/// first of each second. For one thread.
struct TailSampler {
    /// What was left out: `shown` of `matched` logs in this time.
    struct Report: Equatable {
        let matched: Int
        let shown: Int
        let time: Duration
    }

    static let period: Duration = .seconds(1)
    /// Seconds of the rate that may come at once after a pause.
    private static let burst = 0.25

    private let rate: Double
    /// Logs that may be shown now, at most `rate * burst`.
    private var allowance: Double
    private var refilled: Moment
    private var periodStart: Moment
    private var (matched, shown) = (0, 0)

    init(rate: Int, now: Moment) {
        self.rate = Double(rate)
        allowance = max(1, self.rate * Self.burst)
        (refilled, periodStart) = (now, now)
    }

    /// The places of those that are shown among `count` logs that come now.
    mutating func choose(_ count: Int, _ now: Moment) -> [Int] {
        // Traffic without a loss needs no report.
        if matched == shown, now - periodStart >= Self.period { startPeriod(now) }
        allowance = min(
            max(1, rate * Self.burst),
            allowance + (now - refilled) / .seconds(1) * rate
        )
        refilled = now
        let chosen = min(count, Int(allowance))
        allowance -= Double(chosen)
        (matched, shown) = (matched + count, shown + chosen)
        // Logs that come all at once are spread, too.
        let offset = count > 1 ? Int.random(in: 0..<count) : 0
        return (0..<chosen).map { ($0 * count + offset) / chosen }
    }

    /// Starts the counts again, after a report.
    mutating func startPeriod(_ now: Moment) {
        (matched, shown, periodStart) = (0, 0, now)
    }

    /// When the next report is due; nil while nothing was left out.
    var nextReport: Moment? { matched > shown ? periodStart + Self.period : nil }

    /// The report, when it is due. It grows until the viewer has it; see `startPeriod`.
    func report(_ now: Moment) -> Report? {
        guard let nextReport, now >= nextReport else { return nil }
        return Report(matched: matched, shown: shown, time: now - periodStart)
    }
}
