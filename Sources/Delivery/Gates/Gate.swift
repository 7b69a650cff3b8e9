import Configuration
import System

/// Bounds the requests in flight through one scope: an endpoint, a project or a logstore.
///
/// Pure: time and chance are passed in. Each request takes a `Pass` (`enter`) and gives it back
/// exactly once with what its answer said (`leave`), so no place can leak.
///
/// An *open* gate lets up to `limit` requests through. Windows of good results raise the limit, bad
/// ones lower it. A *probing* gate lets one request at a time through, after waits that double.
/// The first success opens it to half of its maximum at once, because a backlog waits. Besides, a
/// used up quota makes the gate let requests through at a steady pace.
struct Gate {
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
        /// An outage is over: each waiting logstore is worth a probe at once.
        case recovered
        /// From now on one at a time tries.
        case closed
    }

    /// A request holds it while it is on its way.
    struct Pass: Equatable {
        let epoch: Int
        let isProbe: Bool
        let bytes: Int
        let paces: Pacing.Ticket
    }

    /// The longest Retry-After that is honoured; after it a probe is sent all the same.
    private static let longestHold: Duration = .seconds(600)
    /// How long a hand-over from the queue may take.
    private static let handOverTime: Duration = .milliseconds(100)

    /// How many may be in flight at most, and at present while the gate is open.
    private(set) var most: Int
    var limit: Int
    private let waits: Backoff
    private(set) var inFlight = 0
    var probing: Probing?
    private(set) var pacing = Pacing()
    /// Counts the changes (a decrease, a pause, a reopening) after which answers to earlier
    /// requests prove nothing about the gate.
    private(set) var epoch = 0
    private var window = ResultWindow()

    init(most: Int, waits: Backoff = .retry) {
        self.most = most
        self.waits = waits
        // A careful start: each window of ten good results raises it.
        limit = max(1, most / 4)
    }

    // MARK: - The way in

    /// True when one more request may go through now.
    func permits(_ now: Moment) -> Bool {
        nextOpening.map { $0 <= now } ?? false
    }

    /// When one more request may go through; nil when only the end of a request opens the gate.
    var nextOpening: Moment? {
        if let probing { return probing.isFlying ? nil : max(probing.next, pacing.next) }
        return inFlight < limit ? pacing.next : nil
    }

    /// Like `nextOpening`, for a logstore that was itself refused.
    var nextOpeningOfRefused: Moment? {
        nextOpening.map { max($0, probing?.nextOfRefused ?? $0) }
    }

    /// How many requests could go through now or within a hand-over: so many packets are worth
    /// asking the queue for.
    func room(_ now: Moment) -> Int {
        guard let opening = nextOpening, opening <= now + Self.handOverTime else { return 0 }
        if probing != nil { return 1 }
        guard let rate = pacing.rate(now) else { return limit - inFlight }
        let soon = rate * (Self.handOverTime / .seconds(1))
        return min(limit - inFlight, 1 + Int(min(soon, 1e6)))
    }

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

    // MARK: - The way out

    /// A request has come back. `random` is from 0 to 1.
    mutating func leave(
        _ pass: Pass,
        _ verdict: Verdict,
        retryAfter: Duration? = nil,
        _ now: Moment,
        random: Double
    ) -> Change? {
        precondition(pass.epoch <= epoch, "a pass of another gate")
        precondition(inFlight > 0, "a pass is given back once")
        inFlight -= 1
        let wasOpen = probing == nil
        let isWitness = wasOpen || pass.epoch == epoch
        switch verdict {
        case .stored:
            pacing.stored(pass.paces, bytes: pass.bytes, now)
            return succeeded(pass, now)
        case .reached: return succeeded(pass, now)
        case .failed: failed(pass, now, random: random)
        // The answer proves that everything works, and the pace does the rest.
        case .overQuota(let quota):
            pacing.refused(pass.paces, quota, now, random: random)
            _ = succeeded(pass, now)
        case .forbidden: refused(pass, waits, now, random: random)
        case .undecided:
            refused(pass, waits.undecided, ofRefused: waits.endless, now, random: random)
        case .suspended: refused(pass, waits.suspended, now, random: random)
        case .none: if isProbe(pass) { probing?.probeEnded(now, random: random) }
        }
        if let retryAfter, isWitness, verdict != .none { hold(until: now + retryAfter, now) }
        return switch (wasOpen, probing == nil) {
        case (true, false): .closed
        case (false, true): .recovered
        default: nil
        }
    }

    /// The request was not sent after all, so another one may be the probe in its place.
    mutating func withdraw(_ pass: Pass) {
        precondition(inFlight > 0, "a pass is given back once")
        inFlight -= 1
        if isProbe(pass) { probing?.isFlying = false }
    }

    private mutating func succeeded(_ pass: Pass, _ now: Moment) -> Change? {
        guard pass.epoch == epoch else {
            // Sent before the outage, which may go on; but that is worth a probe.
            if probing?.isFlying == false { probing?.begin(now) }
            return nil
        }
        guard probing == nil else {
            probing = nil
            limit = max(1, most / 2)
            startOver()
            return .recovered
        }
        if window.count(isFailure: false, now) == .grow { limit = min(most, limit + 1) }
        return nil
    }

    private mutating func failed(_ pass: Pass, _ now: Moment, random: Double) {
        if probing != nil {
            if isProbe(pass) { probing?.probeFailed(now, random: random) }
            return
        }
        // It was sent before the limit was lowered, so it does not count against the lower one.
        guard pass.epoch == epoch else { return }
        // Where the tries are counted, one failure is enough to close the gate.
        if waits.times != nil { return pause(waits, now, random: random) }
        switch window.count(isFailure: true, now) {
        case .shrink: decrease(to: limit * 4 / 5)
        case .halve where limit > 1: decrease(to: limit / 2)
        case .halve: pause(waits, now, random: random)
        case .grow, .stay, nil: break
        }
    }

    private mutating func refused(
        _ pass: Pass,
        _ waits: Backoff,
        ofRefused waitsOfRefused: Backoff? = nil,
        _ now: Moment,
        random: Double
    ) {
        if probing == nil {
            if pass.epoch == epoch { pause(waits, now, random: random) }
        } else if isProbe(pass) {
            probing?.longestWait = waits.longest
            probing?.probeFailed(now, waitsOfRefused: waitsOfRefused, random: random)
        }
    }

    private func isProbe(_ pass: Pass) -> Bool { pass.isProbe && pass.epoch == epoch }

    private mutating func decrease(to limit: Int) {
        self.limit = max(1, limit)
        startOver()
    }

    private mutating func pause(_ waits: Backoff, _ now: Moment, random: Double) {
        probing = Probing(waits, now, random: random)
        startOver()
    }

    private mutating func startOver() {
        window = ResultWindow()
        epoch += 1
    }

    // MARK: - From outside

    /// Goes to single probes at once. While it is `undecided` whether this gate's credential or
    /// single logstores are refused, the waits between them stay short.
    mutating func pause(isUndecided: Bool = false, _ now: Moment, random: Double) {
        pause(isUndecided ? waits.undecided : waits, now, random: random)
    }

    /// Lets nothing through until then, as a server asked for; the first one after is a probe.
    mutating func hold(until moment: Moment, _ now: Moment) {
        if probing == nil { pause(waits, now, random: 0) }
        probing?.hold(until: min(moment, now + Self.longestHold))
    }

    /// While probing, the next one need not wait longer than until then.
    mutating func hastenProbe(to moment: Moment) {
        probing?.hasten(to: moment)
    }

    /// Its tries are used up, and something came that is worth another one.
    mutating func endRest(_ now: Moment) {
        if probing?.isResting == true { probing?.hasten(to: now) }
    }

    /// A credential or a setting has changed: worth a probe at once. Requests that were sent before
    /// say nothing any more.
    mutating func reopen(_ now: Moment) {
        probing?.beginAgain(now)
        startOver()
    }

    /// Changes the maximum. A lowered limit stays, and grows with what goes well.
    mutating func resize(to most: Int) {
        limit = limit < self.most ? min(limit, most) : most
        self.most = most
    }

    /// Changes the maximum at run time; more places than before may be used at once.
    mutating func widen(to most: Int) {
        limit = min(max(limit, 1), most) + max(0, most - self.most)
        limit = min(most, limit)
        self.most = most
    }
}

extension Backoff {
    /// Between probes of something that only a paid bill opens.
    fileprivate var suspended: Backoff { with(longest: longest * 5) }

    /// Between probes of logstores that were not refused, while it is unknown what is refused.
    fileprivate var undecided: Backoff { with(longest: max(first, min(longest, .seconds(1)))) }

    fileprivate var endless: Backoff { Backoff(first: first, longest: longest) }

    private func with(longest: Duration) -> Backoff {
        Backoff(first: first, longest: longest, times: times)
    }
}
