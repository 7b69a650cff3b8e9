import System

/// Stands in for a rate after a refusal that came too early to tell one. Single requests go after
/// waits that grow while they are refused. As soon as one is taken, twice as many a second go with
/// each round trip, until the next refusal ends a time that was long enough to measure.
///
/// It counts requests, whatever the pace counts: how large the next one is has nothing to do with
/// what was refused before.
struct Search: Equatable {
    /// Refusals with nothing taken between them.
    private(set) var refusals = 0
    private(set) var wait: Duration = .zero
    /// Requests a second since one was taken; nil until then.
    private(set) var rate: Double?
    /// Since when requests have followed one another.
    private var pressed = Moment(nanoseconds: 0)
    /// The last refusal; or earlier, where the server's account was not empty.
    private var began = Moment(nanoseconds: 0)

    static let waits = Backoff(first: .milliseconds(500), longest: .seconds(10))
    /// Requests a second after the first one was taken.
    static let first = 2.0
    /// A higher rate limits nothing.
    static let most = 1000.0
    /// How much a quota saves up, in seconds, as far as is known.
    static let saved = 1.0

    /// When the next one may go after one that goes now.
    var gap: Duration { rate.map { Pace.duration(1 / $0) } ?? wait }

    /// Requests a second, at present.
    var present: Double { rate ?? .seconds(1) / max(wait, .milliseconds(1)) }

    init() {}

    /// One was just taken.
    init(taken now: Moment) {
        taken(now, at: nil)
        // The account is not empty, as it is after a refusal.
        began = now + (.zero - Pace.duration(Self.saved))
    }

    /// In how many seconds the server gave what it took since the last refusal, when its account
    /// was empty. After a long wait the account may have been full, and has given what it had saved
    /// up.
    func seconds(_ now: Moment) -> Double {
        let sinceRefusal = (now - began) / .seconds(1)
        let sincePressed = (now - pressed) / .seconds(1)
        return max(min(sinceRefusal, Self.saved + sincePressed), 1e-3)
    }

    /// Clients that were refused together do not come back together.
    mutating func refused(_ now: Moment, random: Double) {
        began = now
        refusals = rate == nil ? refusals + 1 : 1
        rate = nil
        wait = Self.waits.window(after: refusals) * (0.75 + 0.25 * random)
    }

    /// One that was sent at this rate was taken.
    mutating func taken(_ sent: Moment, at rate: Double?) {
        if self.rate == nil { pressed = sent }
        self.rate = max(self.rate ?? 0, rate.map { 2 * $0 } ?? Self.first)
    }

    mutating func press(_ now: Moment) { pressed = now }
}
