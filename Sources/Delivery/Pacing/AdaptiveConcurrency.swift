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
    /// After so long it is asked whether answers have become slower.
    private static let span: Duration = .seconds(30)
    /// How long it stays narrow after it was halved.
    private static let rest: Duration = .seconds(10)
    /// What a busy machine itself may add to a window's answers.
    private static let noise: Duration = .milliseconds(5)

    let usual: Int
    let most: Int
    private(set) var width: Int
    private var window = Window()
    /// The mean time of the fastest window since the measuring began.
    private var least: Duration?
    /// The mean time of the fastest window of this span.
    private var leastOfSpan: Duration?
    private var spanBegan: Moment?
    private var narrowUntil: Moment?
    /// When the width changed. Answers to earlier requests tell of another width.
    private var changed = Moment(nanoseconds: 0)

    private struct Window {
        var began: Moment?
        var results = 0
        /// Answers at which others waited only for a place.
        var shortages = 0
        var sum: Duration = .zero
    }

    /// How many to all logstores together.
    var places: Int { 2 * width }

    init(usual: Int, most: Int) {
        self.usual = usual
        self.most = most
        width = usual
    }

    /// A packet that was sent then is stored. `isShort`: others wait only for a place.
    mutating func stored(sent: Moment, isShort: Bool, _ now: Moment) {
        guard most > usual, sent >= changed else { return }
        if let began = window.began, now - began > Self.span { window = Window() }
        window.began = window.began ?? now
        window.results += 1
        window.sum += now - sent
        if isShort { window.shortages += 1 }
        guard window.results >= max(Self.resultsMin, 2 * width) else { return }
        look(at: window.sum / window.results, now)
        window = Window()
    }

    /// Something refuses or does not answer: it begins again, carefully.
    mutating func startOver(_ now: Moment) {
        least = nil
        leastOfSpan = nil
        spanBegan = nil
        narrowUntil = nil
        window = Window()
        set(usual, now)
    }

    private mutating func set(_ width: Int, _ now: Moment) {
        guard width != self.width else { return }
        self.width = width
        changed = now
    }

    /// A window has ended.
    private mutating func look(at mean: Duration, _ now: Moment) {
        let least = min(self.least ?? mean, mean)
        self.least = least
        leastOfSpan = min(leastOfSpan ?? mean, mean)
        let isShort = window.shortages * 4 >= window.results
        if mean > least * 3 + Self.noise * 2 {
            set(max(usual, width / 2), now)
            narrowUntil = now + Self.rest
        } else if isShort, mean <= least * 3 / 2 + Self.noise, (narrowUntil ?? now) <= now {
            set(min(most, 2 * width), now)
        }
        if now - (spanBegan ?? now) > Self.span { endSpan(now) }
        spanBegan = spanBegan ?? now
    }

    private mutating func endSpan(_ now: Moment) {
        if let least, let leastOfSpan, leastOfSpan > least * 5 / 4 + Self.noise { startOver(now) }
        leastOfSpan = nil
        spanBegan = now
    }
}
