import System

/// When a single request tries the first endpoint again while another one is in use: after 5 s, then
/// less and less often, up to 5 min apart. One that comes and goes is not asked more often for it.
struct FirstEndpointProbing {
    static let backoff = Backoff(first: .seconds(5), longest: .seconds(300))
    /// An endpoint that lasted so long starts over with short waits.
    static let steadyTime: Duration = .seconds(60)
    /// A request whose end nobody told is over by then.
    private static let patience: Duration = .seconds(900)

    private var due: Moment?
    private var failures = 0
    private var inFlightSince: Moment?
    private var returned: Moment?

    func isDue(_ now: Moment) -> Bool {
        if let inFlightSince, now < inFlightSince + Self.patience { return false }
        return due.map { $0 <= now } ?? false
    }

    /// The first endpoint was left.
    mutating func begin(_ now: Moment, _ random: Double) {
        if returned.map({ now - $0 >= Self.steadyTime }) ?? true { failures = 0 }
        inFlightSince = nil
        plan(now, random)
    }

    mutating func started(_ now: Moment) {
        inFlightSince = now
    }

    /// Late results of requests from before the first was left are none of its business.
    mutating func failed(_ now: Moment, _ random: Double) {
        guard inFlightSince != nil else { return }
        inFlightSince = nil
        plan(now, random)
    }

    mutating func succeeded(_ now: Moment) {
        inFlightSince = nil
        due = nil
        returned = now
    }

    /// Half of the wait is random, so that many gateways do not come at once.
    private mutating func plan(_ now: Moment, _ random: Double) {
        failures += 1
        let window = Self.backoff.window(after: failures)
        due = now + window / 2 + window / 2 * random
    }
}
