import System

/// A rate that a server lets through, found by trying. It counts units, which are requests or
/// bytes. It is free until the first refusal, and again when none has come for a while. A refusal
/// that comes before enough was taken to tell a rate begins a `Search`.
///
/// The aim: to take nearly all that the server gives, with few requests refused. Each refusal tells
/// how much it gave since the last one (`PaceEstimate`), and starts a new `Climb` around that.
struct Pace: Equatable {
    /// The pace when a request was sent; it carries this until its answer.
    struct Ticket: Equatable {
        let epoch: Int
        let sent: Moment
        /// The rate at that time, in requests while it searched; nil when there was none.
        let rate: Double?
    }

    var climb: Climb?
    var search: Search?
    var schedule = PaceSchedule()
    /// Counts changes of the rate: a request that was sent before one is no witness against the
    /// next.
    var epoch = 0
    var usual = UsualRequest()
    var taken = TakenRequests()
    var estimate = PaceEstimate()
    var flood: Flood?
    var closures = Closures()

    var isEngaged: Bool { climb != nil || search != nil }

    /// When the next request may go.
    var next: Moment { schedule.next }

    /// Units a second; nil while it is free.
    func rate(_ now: Moment) -> Double? {
        if let search { return search.present * usual.units }
        return climb?.rate(now, cycle: cycle, latency: usual.latency)
    }

    /// How long a cycle takes, in seconds. A rate that was measured briefly is soon measured again.
    var cycle: Double {
        guard let climb else { return 0 }
        let long = Climb.seconds(
            allowed: climb.allowed,
            request: usual.units,
            latency: usual.latency
        )
        return min(long, max(2, 6 * taken.measured, 5 * usual.units / climb.allowed))
    }

    // MARK: - Sending

    mutating func sent(_ units: Double, _ now: Moment) -> Ticket {
        usual.sent(units)
        if isEngaged, now - schedule.lastRefusal >= PaceSchedule.engagedFor { disengage() }
        if search != nil { return tried(now) }
        guard climb != nil else { return Ticket(epoch: epoch, sent: now, rate: nil) }
        passIdleTime(now)
        let rate = rate(now) ?? 1
        schedule.plan(after: Self.duration(units / rate), now)
        return Ticket(epoch: epoch, sent: now, rate: rate)
    }

    /// A time in which nothing waited for the pace proves nothing, so the climb waits, too.
    private mutating func passIdleTime(_ now: Moment) {
        guard let idle = schedule.idleTime(since: taken.tally.began, now) else { return }
        let began = climb?.began ?? now
        climb?.began = min(now, began + idle)
        taken.tally.idle += idle / .seconds(1)
    }

    mutating func disengage() {
        climb = nil
        search = nil
        epoch += 1
        taken.forget()
        estimate = PaceEstimate()
        flood = nil
        closures = Closures()
    }

    static func duration(_ seconds: Double) -> Duration {
        .nanoseconds(Int64(min(max(seconds, 0), 1e9) * 1e9))
    }
}

/// When the requests of a pace may go.
struct PaceSchedule: Equatable {
    /// Without a refusal for so long the pace is free again.
    static let engagedFor: Duration = .seconds(60)
    /// However slow the pace is, a request goes after this time.
    private static let longestWait: Duration = .seconds(10)
    /// A loop that wakes late may catch up by this much.
    private static let slack: Duration = .milliseconds(50)

    private(set) var next = Moment(nanoseconds: 0)
    private(set) var lastRefusal = Moment(nanoseconds: 0)
    private var lastSent = Moment(nanoseconds: 0)

    /// The request that goes now has its successor wait so long; when the pace ends it waits for
    /// nothing.
    mutating func plan(after wait: Duration, _ now: Moment) {
        let start = max(next, now + (.zero - Self.slack))
        next = min(start + wait, now + Self.longestWait, lastRefusal + Self.engagedFor)
    }

    mutating func refused(_ now: Moment) { lastRefusal = now }

    /// Lets the next request go no earlier, or no later.
    mutating func wait(until moment: Moment) { next = max(next, moment) }
    mutating func hurry(until moment: Moment) { next = min(next, moment) }

    /// For how long nothing waited for the pace before the request that goes now; nil when it was
    /// not longer than `slack`.
    mutating func idleTime(since began: Moment, _ now: Moment) -> Duration? {
        defer { lastSent = now }
        return now - next > Self.slack ? now - max(lastSent, began) : nil
    }
}
