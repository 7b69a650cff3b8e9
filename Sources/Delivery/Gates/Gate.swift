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

    /// What an answer said about the scope.
    enum Verdict: Equatable {
        /// It stored the packet.
        case stored
        /// It works, though this packet was refused for something else.
        case reached
        /// It failed in passing.
        case failed
        case overQuota(Quota)
        /// It takes nothing until an operator acts.
        case forbidden
        /// It, or something behind it, takes nothing until an operator acts.
        case undecided
        /// It takes nothing until a bill is paid.
        case suspended
        /// Nothing: the reason lies elsewhere.
        case none
    }

    /// What the end of a request has changed for those that wait behind the gate.
    enum Change: Equatable {
        /// An outage is over: what waits within this scope is worth a probe at once.
        case recovered
        /// From now on one at a time tries.
        case closed
    }

    /// A request has come back. `random` is from 0 to 1.
    mutating func leave(
        _ pass: Pass,
        _ verdict: Verdict,
        retryAfter: Duration? = nil,
        _ now: Moment,
        random: Double
    ) -> Change? {
        precondition(pass.epoch <= epoch, "a pass of another gate")
        freePlace()
        let wasOpen = probing == nil
        let isWitness = wasOpen || pass.epoch == epoch
        switch verdict {
        case .stored, .reached: return succeeded(pass, verdict, now)
        case .failed: failed(pass, now, random: random)
        case .overQuota(let quota): exceeded(pass, quota, now, random: random)
        case .forbidden: refused(pass, bounds.longestWait, now, random: random)
        case .undecided:
            refused(
                pass,
                bounds.longestWaitUndecided,
                waitsOfRefused: Backoff(first: bounds.firstWait, longest: bounds.longestWait),
                now,
                random: random
            )
        case .suspended: refused(pass, bounds.longestWaitSuspended, now, random: random)
        case .none: if isProbe(pass) { probing?.probeEnded(now, random: random) }
        }
        if let retryAfter, isWitness, verdict != .none { hold(until: now + retryAfter, now) }
        return switch (wasOpen, probing == nil) {
        case (true, false): .closed
        case (false, true): .recovered
        default: nil
        }
    }

    private mutating func succeeded(_ pass: Pass, _ verdict: Verdict, _ now: Moment) -> Change? {
        if verdict == .stored { pacing.stored(pass.paces, bytes: pass.bytes, now) }
        if probing != nil { return heard(pass, now) }
        guard pass.epoch == epoch else { return nil }
        if window.count(isFailure: false, now) == .grow { limit = min(bounds.most, limit + 1) }
        return nil
    }

    /// Good news while probing.
    private mutating func heard(_ pass: Pass, _ now: Moment) -> Change? {
        guard pass.epoch == epoch else {
            // Sent before the trouble, so it may not be over; but that is worth a probe.
            if probing?.isFlying == false { probing?.begin(now) }
            return nil
        }
        probing = nil
        limit = max(bounds.least, bounds.most / 2)
        startOver()
        return .recovered
    }

    private mutating func failed(_ pass: Pass, _ now: Moment, random: Double) {
        if probing != nil {
            if isProbe(pass) { probing?.probeFailed(now, random: random) }
            return
        }
        // What was sent by more than there are now says nothing against these.
        guard pass.epoch == epoch else { return }
        if bounds.probesMax != nil { return pause(bounds.longestWait, now, random: random) }
        switch window.count(isFailure: true, now) {
        case .shrink: decrease(to: limit * 4 / 5)
        case .halve where limit > bounds.least: decrease(to: limit / 2)
        case .halve: pause(bounds.longestWait, now, random: random)
        case .grow, .stay, nil: break
        }
    }

    /// A quota is no outage: the answer proves that everything works, and the pace does the rest.
    private mutating func exceeded(_ pass: Pass, _ quota: Quota, _ now: Moment, random: Double) {
        pacing.refused(pass.paces, quota, now, random: random)
        _ = succeeded(pass, .reached, now)
    }

    private mutating func refused(
        _ pass: Pass,
        _ longestWait: Duration,
        waitsOfRefused: Backoff? = nil,
        _ now: Moment,
        random: Double
    ) {
        if probing != nil {
            guard isProbe(pass) else { return }
            probing?.longestWait = longestWait
            probing?.probeFailed(now, waitsOfRefused: waitsOfRefused, random: random)
        } else if pass.epoch == epoch {
            pause(longestWait, now, random: random)
        }
    }

    private func isProbe(_ pass: Pass) -> Bool {
        pass.isProbe && pass.epoch == epoch
    }

    private mutating func decrease(to limit: Int) {
        self.limit = max(bounds.least, limit)
        startOver()
    }

    // MARK: - From outside

    /// Goes to single probes at once.
    mutating func pause(_ longestWait: Duration, _ now: Moment, random: Double) {
        let waits = Backoff(first: bounds.firstWait, longest: longestWait, times: bounds.probesMax)
        probing = Probing(waits, now, random: random)
        startOver()
    }

    /// Lets nothing through until then, as a server asked for; the first one after is a probe.
    mutating func hold(until moment: Moment, _ now: Moment) {
        if probing == nil { pause(bounds.longestWait, now, random: 0) }
        probing?.hold(until: min(moment, now + bounds.longestHold))
    }

    /// While probing, the next one need not wait longer than until then.
    mutating func hastenProbe(to moment: Moment) {
        probing?.hasten(to: moment)
    }

    /// Its tries are used up, and something came that is worth another one.
    mutating func endRest(_ now: Moment) {
        if probing?.isResting == true { probing?.hasten(to: now) }
    }

    /// Something has changed, as a credential or a setting: worth a probe at once. Requests that
    /// were sent before say nothing any more.
    mutating func reopen(_ now: Moment) {
        probing?.beginAgain(now)
        startOver()
    }

    /// At run time.
    mutating func set(_ bounds: Bounds) {
        self.bounds = bounds
        limit = min(max(limit, bounds.least), bounds.most)
    }

    /// At run time, to so many in flight; what is more than before may be used at once.
    mutating func widen(to most: Int) {
        var bounds = bounds
        let more = max(0, most - bounds.most)
        bounds.most = most
        set(bounds)
        limit = min(most, limit + more)
    }

    private mutating func startOver() {
        window = ResultWindow()
        epoch += 1
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
