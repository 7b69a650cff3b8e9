import System

/// How much may be in flight through one scope: an endpoint, a project or a logstore.
///
/// Pure: time and chance are passed in. Every request that goes through takes a `Pass` (`enter`)
/// and gives it back exactly once with what its answer said (`leave`), whatever became of it; so no
/// place can leak.
///
/// A gate is *open* and lets up to `limit` through, which grows with windows of good results and
/// shrinks with bad ones; or it is *probing*, and lets one at a time through, after waits that
/// double, to see whether things are well again. Then it opens to half its maximum at once, because
/// a backlog waits. Besides, a used up quota makes it let requests through at a steady pace.
struct Gate {
    struct Bounds: Equatable {
        var most: Int
        var least = 1
        /// Between the first probes, at most.
        var firstWait: Duration = .milliseconds(100)
        var longestWait: Duration = .seconds(60)
        /// Between probes of something that only a paid bill opens.
        var longestWaitSuspended: Duration = .seconds(300)
        /// Between probes of logstores that were not refused, while it is unknown what is refused:
        /// this gate's credential or single logstores behind it. Probes of refused logstores wait
        /// up to `longestWait`.
        var longestWaitUndecided: Duration = .seconds(1)
        /// The longest Retry-After that is honoured; after it a probe is sent all the same.
        var longestHold: Duration = .seconds(600)
        /// Probes before a rest of the longest wait. With such a bound one failure is enough to
        /// close the gate.
        var probesMax: Int?
    }

    /// A request holds it while it is on its way.
    struct Pass: Equatable {
        let epoch: Int
        let isProbe: Bool
        let bytes: Int
        let paces: Pacing.Ticket
    }

    var bounds: Bounds
    /// How many may be in flight while it is open.
    var limit: Int
    private(set) var inFlight = 0
    var probing: Probing?
    var window = ResultWindow()
    var pacing = Pacing()
    /// Counts the changes (a decrease, a pause, a reopening) after which answers to earlier
    /// requests prove nothing about the gate.
    var epoch = 0

    init(_ bounds: Bounds) {
        self.bounds = bounds
        // A careful start: nothing is known yet, and each window of ten good results raises it.
        limit = max(bounds.least, bounds.most / 4)
    }

    /// True when one more request may go through now.
    func permits(_ now: Moment) -> Bool {
        nextOpening.map { $0 <= now } ?? false
    }

    /// When one more request may go through, if nothing happens before. Nil when only the end of a
    /// request opens it.
    var nextOpening: Moment? {
        if let probing { return probing.isFlying ? nil : max(probing.next, pacing.next) }
        return inFlight < limit ? pacing.next : nil
    }

    /// The same for a request of a logstore that was refused itself.
    var nextOpeningOfRefused: Moment? {
        nextOpening.map { max($0, probing?.nextOfRefused ?? $0) }
    }

    /// How many requests could go through now or in a moment: so many packets are worth asking the
    /// queue for.
    func room(_ now: Moment) -> Int {
        guard let opening = nextOpening, opening <= now + Self.moment else { return 0 }
        if probing != nil { return 1 }
        guard let rate = pacing.rate(now) else { return limit - inFlight }
        let soon = rate * (Self.moment / .seconds(1))
        return min(limit - inFlight, 1 + Int(min(soon, 1e6)))
    }

    /// How long a hand-over from the queue may take.
    private static let moment: Duration = .milliseconds(100)

    /// A request goes through. The caller asks `permits` before.
    mutating func enter(_ now: Moment, bytes: Int) -> Pass {
        inFlight += 1
        // A request that goes without being permitted is no probe.
        let isProbe = probing?.isFlying == false
        probing?.isFlying = true
        return Pass(
            epoch: epoch,
            isProbe: isProbe,
            bytes: bytes,
            paces: pacing.sent(bytes: bytes, now)
        )
    }

    /// Gives up a place.
    mutating func freePlace() {
        precondition(inFlight > 0, "a pass is given back once")
        inFlight -= 1
    }
}

extension Gate.Bounds {
    init(most: Int, _ waits: Backoff) {
        self.init(
            most: most,
            firstWait: waits.first,
            longestWait: waits.longest,
            longestWaitSuspended: waits.longest * 5,
            longestWaitUndecided: max(waits.first, min(waits.longest, .seconds(1))),
            probesMax: waits.times
        )
    }
}
