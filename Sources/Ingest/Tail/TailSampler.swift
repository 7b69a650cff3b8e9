import System

/// Chooses which logs a viewer sees who wants so many a second: spread over all that come, not the first of each
/// second. For one thread.
struct TailSampler {
    /// What was left out: `shown` of `matched` logs in this time.
    struct Report: Equatable {
        let matched: Int
        let shown: Int
        let time: Duration
    }

    /// How often the share of shown logs follows the traffic.
    private static let interval: Duration = .milliseconds(100)
    static let period: Duration = .seconds(1)
    /// Seconds of the rate that may come at once after a pause.
    private static let burst = 0.25

    private let rate: Double
    /// Logs that may be shown now, at most `rate * burst`.
    private var allowance: Double
    private var refilled: Moment
    private var intervalStart: Moment
    private var matchedInInterval = 0
    /// The part of the logs to show, from the traffic of the last interval.
    private var share = 1.0
    /// The next log is shown when this reaches one.
    private var due = 1.0
    private var periodStart: Moment
    private var (matched, shown) = (0, 0)

    init(rate: Int, now: Moment) {
        self.rate = Double(rate)
        allowance = max(1, self.rate * Self.burst)
        (refilled, intervalStart, periodStart) = (now, now, now)
    }

    /// The places of those that are shown among `count` logs that come now.
    mutating func choose(_ count: Int, _ now: Moment) -> [Int] {
        advance(to: now)
        matched += count
        matchedInInterval += count
        // Logs that come all at once are spread, too: the share does not know them yet.
        let share = min(share, max(1, allowance) / Double(max(1, count)))
        var chosen: [Int] = []
        for place in 0..<count {
            due += share
            guard due >= 1 else { continue }
            // Without allowance nothing is owed to later logs either.
            due = min(due - 1, 1)
            guard allowance >= 1 else { continue }
            allowance -= 1
            chosen.append(place)
        }
        shown += chosen.count
        return chosen
    }

    private mutating func advance(to now: Moment) {
        // Traffic without a loss needs no report.
        if matched == shown, now - periodStart >= Self.period { startPeriod(now) }
        allowance = min(
            max(1, rate * Self.burst),
            allowance + (now - refilled) / .seconds(1) * rate
        )
        refilled = now
        let passed = (now - intervalStart) / Self.interval
        guard passed >= 1 else { return }
        let matchedPerSecond = Double(matchedInInterval) / passed / (Self.interval / .seconds(1))
        share = matchedPerSecond > rate ? rate / matchedPerSecond : 1
        matchedInInterval = 0
        intervalStart = now
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
