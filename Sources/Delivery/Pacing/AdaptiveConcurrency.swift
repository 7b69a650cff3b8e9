import System

/// How many requests to one logstore may be in flight: more of them the longer answers take to
/// come, for otherwise distance alone would bound the throughput. Pure: time is passed in.
///
/// Answers are looked at in windows of at least a round trip. If packets waited in a window only
/// for a place, and its answers came about as fast as they ever do, the server is far and not
/// busy: the width doubles. When answers take three times as long, requests wait for each other
/// there, and the width is halved. If they were slower for a whole span, it begins again, because
/// only few requests tell a longer route from a busy server.
struct AdaptiveConcurrency {
    private static let resultsMin = 16
    private static let span: Duration = .seconds(30)
    /// How long it stays narrow after it was halved.
    private static let rest: Duration = .seconds(10)
    /// What a busy machine itself may add to a window's answers.
    private static let noise: Duration = .milliseconds(5)

    let usual: Int
    let most: Int
    private(set) var width: Int
    private var results = 0
    private var isShort = false
    private var sum: Duration = .zero
    /// Of the fastest window since the distance was last measured.
    private var least: Duration?
    /// Of the fastest window of this span.
    private var leastOfSpan: Duration?
    private var spanBegan: Moment?
    private var narrowUntil: Moment?

    init(usual: Int, most: Int) {
        self.usual = usual
        self.most = most
        width = usual
    }

    /// A packet was stored after that time. `isShort`: others wait only for a place. True when the
    /// width has changed.
    mutating func stored(after time: Duration, isShort: Bool, _ now: Moment) -> Bool {
        guard most > usual else { return false }
        results += 1
        sum += time
        self.isShort = self.isShort || isShort
        guard results >= max(Self.resultsMin, 2 * width) else { return false }
        let old = width
        look(at: sum / results, now)
        results = 0
        sum = .zero
        self.isShort = false
        return width != old
    }

    /// A window has ended.
    private mutating func look(at mean: Duration, _ now: Moment) {
        let least = min(self.least ?? mean, mean)
        self.least = least
        leastOfSpan = min(leastOfSpan ?? mean, mean)
        if mean > least * 3 + Self.noise * 2 {
            width = max(usual, width / 2)
            narrowUntil = now + Self.rest
        } else if isShort, mean <= least * 3 / 2 + Self.noise, (narrowUntil ?? now) <= now {
            width = min(most, 2 * width)
        }
        if now - (spanBegan ?? now) > Self.span { endSpan(now) }
        spanBegan = spanBegan ?? now
    }

    private mutating func endSpan(_ now: Moment) {
        if let least, let leastOfSpan, leastOfSpan > least * 5 / 4 + Self.noise {
            self.least = nil
            width = usual
            narrowUntil = nil
        }
        leastOfSpan = nil
        spanBegan = now
    }
}
