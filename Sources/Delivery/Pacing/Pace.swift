import Configuration
import Glibc
import System

/// The paces of a gate: so many requests a second, and so many bytes a second. Each is engaged by
/// the refusals that concern it; one that does not tell what it counts engages both.
struct Pacing {
    /// The tickets of a request for both paces.
    struct Ticket: Equatable {
        let requests: Pace.Ticket
        let bytes: Pace.Ticket
    }

    private(set) var requests = Pace()
    private(set) var bytes = Pace()

    var isEngaged: Bool { requests.isEngaged || bytes.isEngaged }

    /// When the next request may go.
    var next: Moment { max(requests.next, bytes.next) }

    /// Requests a second, as far as a pace limits them; nil while both are free.
    func rate(_ now: Moment) -> Double? {
        let ofBytes = bytes.rate(now).map { $0 / max(bytes.usualUnits, 1) }
        guard let ofRequests = requests.rate(now) else { return ofBytes }
        return min(ofRequests, ofBytes ?? ofRequests)
    }

    mutating func sent(bytes count: Int, _ now: Moment) -> Ticket {
        Ticket(
            requests: requests.sent(1, now),
            bytes: bytes.sent(Double(max(count, 1)), now)
        )
    }

    mutating func stored(_ ticket: Ticket, bytes count: Int, _ now: Moment) {
        requests.stored(1, ticket.requests, now)
        bytes.stored(Double(max(count, 1)), ticket.bytes, now)
    }

    mutating func refused(_ ticket: Ticket, _ quota: Quota, _ now: Moment, random: Double) {
        if quota != .bytes { requests.refused(ticket.requests, now, random: random) }
        if quota != .requests { bytes.refused(ticket.bytes, now, random: random) }
    }
}

/// The units of a used up quota, as far as the answer tells.
enum Quota: Equatable {
    case requests
    case bytes
    case unknown
}

/// The rate that a server's quota lets through, in units (requests or bytes) a second. Refusals are
/// the only sign of it.
///
/// The server counts with a token bucket, which is empty at the moment of a refusal. So the units
/// that it took since the refusal before, divided by the time, are its rate: exact but for one
/// request.
/// Each refusal corrects the estimate and starts a new `RateRamp` around it. A refusal before
/// anything was taken tells no rate: single requests then probe the server (`RateProbe`).
///
/// A pace is free until the first refusal, and again when none has come for a minute.
struct Pace {
    /// The pace when a request was sent; the request carries it until its answer.
    struct Ticket: Equatable {
        let epoch: Int
        let sent: Moment
        /// The rate at that time; requests a second while probing. nil: free, or nothing was taken.
        let rate: Double?
    }

    /// Without a refusal for so long the pace is free again.
    private static let engagedFor: Duration = .seconds(60)
    /// However slow the pace is, a request goes after this time.
    private static let longestWait: Duration = .seconds(10)
    /// A loop that wakes late may catch up by this much.
    private static let slack: Duration = .milliseconds(50)
    /// How much a quota saves up, as far as is known.
    private static let saved: Duration = .seconds(1)
    /// The slowest pace, in requests a second, while the server takes nothing.
    private static let slowest = 0.1

    /// When the next request may go.
    private(set) var next = Moment(nanoseconds: 0)
    /// The units of a request, lately.
    private(set) var usualUnits = 0.0
    private var ramp: RateRamp?
    private var probe: RateProbe?
    /// Counts the refusals that changed the rate. A request that was sent before one is no witness
    /// against the next rate.
    private var epoch = 0
    /// Seconds until an answer, lately.
    private var latency = 0.0
    private var tally = TakenTally(began: Moment(nanoseconds: 0))
    private var recent = RecentTally()
    /// The units of earlier tallies and their seconds, fading.
    private var past = (units: 0.0, seconds: 0.0)
    /// Over how many seconds the rate was measured.
    private var measured = 0.0
    private var lastRefusal = Moment(nanoseconds: 0)
    private var lastSent = Moment(nanoseconds: 0)

    var isEngaged: Bool { ramp != nil || probe != nil }

    /// Units a second; nil while it is free.
    func rate(_ now: Moment) -> Double? {
        if let probe { return probe.rate * usualUnits }
        return ramp?.rate(now, cycle: cycle, latency: latency)
    }

    /// How many seconds the ramp stays near the estimate: long enough for one refusal to be a small
    /// part of the requests, short enough to see a new limit soon. At least six times the latency,
    /// because answers come that late, and at most six times as long as the rate was measured,
    /// because a short measurement is inexact.
    private var cycle: Double {
        guard let ramp else { return 0 }
        let one = usualUnits / ramp.allowed
        let long = min(15, max(2, min(6, 30 * one), 20 * one, 6 * latency))
        return min(long, max(2, 6 * measured, 5 * one))
    }

    // MARK: - Sending

    mutating func sent(_ units: Double, _ now: Moment) -> Ticket {
        usualUnits += (units - usualUnits) * (usualUnits == 0 ? 1 : 0.05)
        if isEngaged, now - lastRefusal >= Self.engagedFor { disengage() }
        passIdleTime(now)
        lastSent = now
        guard let rate = rate(now) else { return Ticket(epoch: epoch, sent: now, rate: nil) }
        // A probe counts requests: how large the next one is has nothing to do with the refusal.
        let gap = probe.map { 1 / $0.rate } ?? units / rate
        let start = max(next, now + (.zero - Self.slack))
        // When the pace ends, the next request waits for nothing.
        let latest = min(now + Self.longestWait, lastRefusal + Self.engagedFor)
        next = min(start + Self.duration(gap), latest)
        return Ticket(epoch: epoch, sent: now, rate: probe == nil ? rate : probe?.takenRate)
    }

    /// A time in which nothing waited for the pace proves nothing: the ramp waits, too, and the
    /// bucket of a probed server has filled.
    private mutating func passIdleTime(_ now: Moment) {
        guard now - next > Self.slack else { return }
        if probe != nil {
            if now - next > Self.saved { tally = TakenTally(began: now + (.zero - Self.saved)) }
        } else if let began = ramp?.began {
            let idle = now - max(lastSent, tally.began)
            ramp?.began = min(now, began + idle)
            tally.idle += idle
        }
    }

    private mutating func disengage() {
        (ramp, probe) = (nil, nil)
        (past, measured, recent) = ((0, 0), 0, RecentTally())
        epoch += 1
    }

    // MARK: - Answers

    mutating func stored(_ units: Double, _ ticket: Ticket, _ now: Moment) {
        let took = (now - ticket.sent) / .seconds(1)
        latency += (took - latency) * (latency == 0 ? 1 : 0.2)
        guard isEngaged else { return recent.add(units, now) }
        if tally.requests == 0 {
            // After a long wait the bucket was full, and has given what it had saved up.
            tally.began = max(tally.began, ticket.sent + (.zero - Self.saved))
        }
        tally.units += units
        tally.requests += 1
        guard ticket.epoch == epoch else { return }
        // More than the pace thinks possible: it was found with packets of another size.
        if let ramp, units > 4 * max(ramp.allowed, usualUnits) {
            self.ramp = nil
            probe = RateProbe()
            // Those in flight tell a rate in units, and a probe counts requests.
            epoch += 1
            tally = TakenTally(began: now + (.zero - Self.saved))
        }
        if probe != nil { probeTaken(ticket, now) }
    }

    private mutating func probeTaken(_ ticket: Ticket, _ now: Moment) {
        guard var probe else { return }
        probe.taken(at: ticket.rate)
        self.probe = probe
        var gap = 1 / probe.rate
        if let known = probe.known {
            // Probably the server counts by the second or the minute: its rate is the same.
            self.probe = nil
            ramp = RateRamp(allowed: 0.9 * known, began: now, from: RateRamp.level)
            gap = usualUnits / (0.9 * known)
        } else if probe.limitsNothing {
            disengage()
        }
        next = min(next, ticket.sent + Self.duration(gap))
    }

    mutating func refused(_ ticket: Ticket, _ now: Moment, random: Double) {
        lastRefusal = now
        guard ticket.epoch == epoch else { return }
        epoch += 1
        // A free pace has no refusal to count from, but the last second.
        let taken = isEngaged ? tally : recent.tally(now)
        tally = TakenTally(began: now)
        guard taken.requests >= (isEngaged ? 1 : 4) else { return probeOn(now, random: random) }
        let seconds = max((now - taken.began) / .seconds(1), 1e-3)
        ramp = nextRamp(taken, within: seconds, at: ticket.rate, now)
        probe = nil
        // The bucket is empty: the next request waits until it has enough.
        let allowed = ramp?.allowed ?? usualUnits
        next = max(next, now + Self.duration(usualUnits / allowed))
    }

    /// A refusal that tells no rate: one request more tries after a wait.
    private mutating func probeOn(_ now: Moment, random: Double) {
        var probe = probe ?? RateProbe(after: ramp, usualUnits)
        probe.refused(random: random)
        (self.probe, ramp) = (probe, nil)
        next = max(next, now + Self.duration(1 / probe.rate))
    }

    /// What a refusal teaches. The fewer requests came through since the last one, the more the
    /// rate was beyond what is allowed; after many, they themselves tell what that is.
    private mutating func nextRamp(
        _ taken: TakenTally,
        within seconds: Double,
        at rate: Double?,
        _ now: Moment
    ) -> RateRamp {
        let found = taken.units / seconds
        func ramp(_ allowed: Double, from: Double) -> RateRamp {
            RateRamp(allowed: max(allowed, usualUnits * Self.slowest), began: now, from: from)
        }
        guard let old = self.ramp, let rate else {
            (past, measured) = ((0, 0), seconds)
            return ramp(max(found, usualUnits), from: RateRamp.low)
        }
        // Fewer requests measure nothing.
        if taken.requests > 3 { measured += seconds }
        if rate > 1.5 * old.allowed {
            // The server took much more than was thought, so what was thought says nothing.
            past = (0, 0)
            return ramp(max(rate / 2, found), from: RateRamp.level)
        }
        let weight = exp(-seconds / (2 * cycle))
        past = (past.units * weight + taken.units, past.seconds * weight + seconds)
        if taken.requests <= 8 {
            return ramp(min(0.85 * rate, max(0.6 * rate, found)), from: RateRamp.level)
        }
        // Where little was sent, what was taken tells nothing of the rate.
        if taken.idle > .seconds(0.1 * seconds) { past = (0, 0) }
        let estimate = past.seconds > 0 ? past.units / past.seconds : rate
        return ramp(min(estimate, rate), from: RateRamp.low)
    }

    fileprivate static func duration(_ seconds: Double) -> Duration {
        .nanoseconds(Int64(min(max(seconds, 0), 1e9) * 1e9))
    }
}

/// The send rate between two refusals: it rises linearly around the estimated limit, so that the
/// stretch below saves up what the stretch above spends; with no refusal it then grows faster.
private struct RateRamp {
    /// The parts of `allowed` that it begins with; `level` after a guess that was too high, when
    /// there is nothing to save up.
    static let (low, level) = (0.95, 1.0)

    /// The estimated limit, in units a second.
    let allowed: Double
    var began: Moment
    let from: Double

    func rate(_ now: Moment, cycle: Double, latency: Double) -> Double {
        let passed = (now - began) / .seconds(1)
        let rate = allowed * (from + 0.1 * min(passed / cycle, 1))
        let beyond = passed - cycle
        guard beyond > 0 else { return rate }
        // A square at first, then no steeper than twice as much in a few round trips.
        let steepest = log(2) / max(0.75, 2.5 * latency)
        return rate * exp(min(20, steepest * beyond * beyond / (beyond + 4 * steepest)))
    }
}

/// Stands in for a rate after a refusal that tells none. Single requests go after waits that grow
/// while they are refused. Once one is taken, twice as many a second go with each round trip,
/// unless a rate is known from before.
private struct RateProbe {
    /// The rate that the server was thought to take before it took nothing.
    let known: Double?
    /// Requests a second.
    private(set) var rate = Self.first
    private var isTaken = false
    private var refusals = 0
    private let waits: Backoff

    private static let first = 2.0

    /// `ramp` is the one that ended. Its rate was probably right, and two refusals in a row may be
    /// chance, so the first wait is only that of three requests.
    init(after ramp: RateRamp? = nil, _ usualUnits: Double = 0) {
        known = ramp?.allowed
        let gap = ramp.map { min(0.5, 3 * usualUnits / $0.allowed) } ?? 0.5
        waits = Backoff(first: Pace.duration(gap), longest: .seconds(10))
    }

    var takenRate: Double? { isTaken ? rate : nil }
    /// A higher rate limits nothing.
    var limitsNothing: Bool { rate >= 1000 }

    /// Clients that were refused together do not come back together.
    mutating func refused(random: Double) {
        refusals += 1
        isTaken = false
        rate = .seconds(1) / (waits.window(after: refusals) * (0.75 + 0.25 * random))
    }

    /// A request that was sent at this rate was taken.
    mutating func taken(at old: Double?) {
        rate = isTaken ? max(rate, old.map { 2 * $0 } ?? Self.first) : Self.first
        isTaken = true
        refusals = 0
    }
}

/// The requests that the server took since a refusal.
private struct TakenTally {
    var began: Moment
    var units = 0.0
    var requests = 0
    /// How much of the time nothing waited for the pace.
    var idle: Duration = .zero
}

/// The requests that the server took within about the last second.
private struct RecentTally {
    private var began = Moment(nanoseconds: 0)
    private var before = (units: 0.0, requests: 0.0)
    private var present = (units: 0.0, requests: 0.0)

    mutating func add(_ units: Double, _ now: Moment) {
        move(to: now)
        present = (present.units + units, present.requests + 1)
    }

    mutating func tally(_ now: Moment) -> TakenTally {
        move(to: now)
        let share = 1 - (now - began) / .seconds(1)
        return TakenTally(
            began: now + .seconds(-1),
            units: before.units * share + present.units,
            requests: Int(before.requests * share + present.requests)
        )
    }

    private mutating func move(to now: Moment) {
        let passed = now - began
        guard passed >= .seconds(1) else { return }
        let isNext = passed < .seconds(2)
        before = isNext ? present : (0, 0)
        present = (0, 0)
        began = isNext ? began + .seconds(1) : now
    }
}
