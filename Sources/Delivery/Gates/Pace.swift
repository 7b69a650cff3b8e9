import System

/// A rate that a server lets through, found by trying. It counts units, which are requests or bytes. It
/// is free until the first refusal, and again when none has come for a while. A refusal that comes
/// before enough was taken to tell a rate begins a `Search`.
///
/// The aim: to take nearly all that the server gives, with few requests refused. Each refusal tells how
/// much it gave since the last one (`PaceEstimate`), and starts a new `Climb` around that.
struct Pace: Equatable {
    /// What a request that is on its way remembers of the pace.
    struct Ticket: Equatable {
        let epoch: Int
        let sent: Moment
        /// The rate at that time, in requests while it searched; nil when there was none.
        let rate: Double?
    }

    /// What the server took since a refusal.
    struct Tally: Equatable {
        var began: Moment
        var units = 0.0
        var requests = 0
        /// How much of the time nothing waited for the pace, in seconds.
        var idle = 0.0
    }

    /// Without a refusal for so long it is free again.
    static let engagedFor: Duration = .seconds(60)
    /// Whatever is owed, after so long one more is tried.
    static let longestWait: Duration = .seconds(10)
    /// A loop that comes late catches up with so much.
    static let slack: Duration = .milliseconds(50)

    var climb: Climb?
    var search: Search?
    /// When the next request may go.
    private(set) var next = Moment(nanoseconds: 0)
    private var lastSent = Moment(nanoseconds: 0)
    /// Counts changes of the rate: what was sent before one is no witness against the next.
    var epoch = 0
    /// What a request counts, and what its answer takes, lately.
    private(set) var request = 0.0
    private(set) var latency = 0.0

    var tally = Tally(began: Moment(nanoseconds: 0))
    var recent = RecentSum()
    var recentRequests = RecentSum()
    /// Over how many seconds the rate was measured.
    var measured = 0.0
    var estimate = PaceEstimate()
    var flood: Flood?
    var closure: Closure?
    var reopening = Reopening()
    var lastRefusal = Moment(nanoseconds: 0)
    /// The refusal before the last one, as far as searching goes.
    var searchedSince = Moment(nanoseconds: 0)

    var isEngaged: Bool { climb != nil || search != nil }

    /// Units a second; nil while it is free.
    func rate(_ now: Moment) -> Double? {
        if let search { return search.present * request }
        return climb?.rate(now, cycle: cycle, latency: latency)
    }

    /// How long a cycle takes, in seconds. What was measured for a moment is not believed for long.
    var cycle: Double {
        guard let climb else { return 0 }
        let long = Climb.seconds(allowed: climb.allowed, request: request, latency: latency)
        return min(long, max(2, 6 * measured, 5 * request / climb.allowed))
    }

    mutating func sent(_ units: Double, _ now: Moment) -> Ticket {
        request += (units - request) * (request == 0 ? 1 : 0.05)
        if isEngaged, now - lastRefusal >= Self.engagedFor { disengage() }
        if search != nil { return tried(now) }
        guard climb != nil else { return Ticket(epoch: epoch, sent: now, rate: nil) }
        passIdleTime(now)
        let rate = rate(now) ?? 1
        plan(after: Self.duration(units / rate), now)
        return Ticket(epoch: epoch, sent: now, rate: rate)
    }

    /// What goes now has its successor wait so long; when the pace ends it waits for nothing.
    mutating func plan(after wait: Duration, _ now: Moment) {
        let start = max(next, now + (.zero - Self.slack))
        next = min(start + wait, now + Self.longestWait, lastRefusal + Self.engagedFor)
    }

    /// Lets the next request go no earlier, or no later.
    mutating func wait(until moment: Moment) { next = max(next, moment) }
    mutating func hurry(until moment: Moment) { next = min(next, moment) }

    mutating func learn(latency: Double) {
        self.latency += (latency - self.latency) * (self.latency == 0 ? 1 : 0.2)
    }

    static func duration(_ seconds: Double) -> Duration {
        .nanoseconds(Int64(min(max(seconds, 0), 1e9) * 1e9))
    }

    /// A time in which nothing waited for the pace proves nothing, so the climb waits, too.
    private mutating func passIdleTime(_ now: Moment) {
        defer { lastSent = now }
        guard now - next > Self.slack else { return }
        let idle = now - max(lastSent, tally.began)
        let began = climb?.began ?? now
        climb?.began = min(now, began + idle)
        tally.idle += idle / .seconds(1)
    }

    mutating func disengage() {
        climb = nil
        search = nil
        epoch += 1
        recent = RecentSum()
        recentRequests = RecentSum()
        measured = 0
        estimate = PaceEstimate()
        flood = nil
        closure = nil
        reopening = Reopening()
    }
}
