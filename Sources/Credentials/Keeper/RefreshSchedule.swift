import System

/// Decides when a source is asked next.
struct RefreshSchedule {
    /// A larger difference between the clocks means that the time of day was set; slewing stays
    /// below it.
    private static let stepMin: Duration = .seconds(5)
    /// This many file changes in a row are followed at once; after that, one each `callInterval`.
    private static let hurriedMax = 3

    /// nil: not before a file changes or a refresh is requested.
    private(set) var due: WallTime?
    private var lastCall: WallTime?
    /// Both clocks at the last look.
    private var lastLook: (now: WallTime, moment: Moment)?
    /// Early calls in a row that file changes caused.
    private var hurried = 0
    /// Answers in a row with a credential that SLS refuses.
    private var refused = 0
    private var files: [String]
    private var stamps: [FileStamp?] = []

    /// The first call is due at once.
    init(files: [String]) {
        self.files = files
        due = WallTime(seconds: 0)
    }

    mutating func watch(_ files: [String]) {
        guard files != self.files else { return }
        self.files = files
        stamps = files.map({ FileStamp(of: $0) })
    }

    /// Detects a changed clock: times planned by the old one are void.
    mutating func look(_ now: WallTime, _ moment: Moment) {
        defer { lastLook = (now, moment) }
        guard let lastLook else { return }
        let step = (now - lastLook.now) - (moment - lastLook.moment)
        guard step > Self.stepMin || step < .zero - Self.stepMin else { return }
        lastCall = lastCall.map { $0 + step }
        due = now
    }

    func isDue(_ now: WallTime) -> Bool {
        if let due, due <= now { return true }
        guard !files.isEmpty, files.map({ FileStamp(of: $0) }) != stamps else { return false }
        guard hurried >= Self.hurriedMax, let lastCall else { return true }
        return now >= lastCall + SourceThread.callInterval
    }

    /// Records the files' stamps before they are read, so that a change during the read is noticed
    /// later.
    mutating func begin(_ now: WallTime) {
        let before = stamps
        stamps = files.map({ FileStamp(of: $0) })
        let gap = lastCall.map { now - $0 } ?? SourceThread.callInterval * 2
        if gap >= SourceThread.callInterval * 2 {
            hurried = 0
        } else if gap < SourceThread.callInterval, stamps != before {
            hurried += 1
        }
        lastCall = now
    }

    /// Moves the next call forward to now, or to the earliest time that the interval of calls
    /// allows.
    mutating func moveForward(to now: WallTime) {
        let earliest = lastCall.map { max(now, $0 + SourceThread.callInterval) } ?? now
        due = due.map { min($0, earliest) } ?? earliest
    }

    /// Plans the next call after an answer. A source that repeats the old credential, as ECS
    /// metadata does until it has the next one, is asked about once a minute. A source whose
    /// credential SLS refuses is treated as failing.
    mutating func succeed(
        _ now: WallTime,
        _ kept: SuppliedCredential,
        isRefused: Bool = false,
        random: Double
    ) {
        refused = isRefused ? refused + 1 : 0
        guard let end = kept.usableUntil, let time = kept.refreshTime(random: random) else {
            due = nil
            return
        }
        let pause = max(SourceThread.callInterval, min(.seconds(60), (end - now) / 2))
        due = max(time, now + pause)
        guard isRefused else { return }
        let wait = RetryPace.wait(.temporary, after: refused, random: random)
        due = min(max(time, now + pause), now + max(SourceThread.callInterval, wait))
    }

    mutating func fail(_ now: WallTime, wait: Duration) {
        due = now + wait
    }

    func nextLook(_ now: WallTime) -> WallTime? {
        guard !files.isEmpty else { return due }
        let look = now + SourceThread.fileInterval
        return due.map { min($0, look) } ?? look
    }
}

/// The wait of a source after failures in a row.
struct RetryPace {
    /// Temporary failures are retried soon, at a random point of a growing window, so that many
    /// gateways do not return together.
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
