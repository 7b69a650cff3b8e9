import Configuration
import System

/// A gate that lets one at a time through, to see whether things are well again.
struct Probing: Equatable {
    /// When the next probe may go.
    private(set) var next: Moment
    var isFlying = false
    private(set) var failures = 0
    /// See `nextOfRefused`.
    private var refusedUntil: Moment?
    private var waits: Backoff
    /// Another refusal than the one before may want longer or shorter waits.
    var longestWait: Duration {
        get { waits.longest }
        set { waits.longest = newValue }
    }
    /// The tries are used up.
    var isResting: Bool { !isFlying && waits.rests(after: failures + 1) }
    /// A server asked to be left alone until then, and nothing that it says later ends that.
    private var heldUntil: Moment?

    /// When the next probe of a logstore that was itself refused may go. While it is unknown
    /// whether the credential or single logstores are refused, its waits double. Logstores that
    /// were not refused go at `next`, with short waits, because their answer decides it.
    var nextOfRefused: Moment { max(next, refusedUntil ?? next) }

    /// The first probe comes after a wait, too: what has just refused needs a moment.
    init(_ waits: Backoff, _ now: Moment, random: Double) {
        self.waits = waits
        next = now + waits.wait(after: 1, random: random)
    }

    /// `waitsOfRefused` are those of refused logstores, where they differ.
    mutating func probeFailed(
        _ now: Moment,
        waitsOfRefused: Backoff? = nil,
        random: Double
    ) {
        isFlying = false
        failures += 1
        plan(now + waits.wait(after: failures + 1, random: random))
        refusedUntil = waitsOfRefused.map { now + $0.wait(after: failures + 1, random: random) }
    }

    /// The probe said nothing about this scope.
    mutating func probeEnded(_ now: Moment, random: Double) {
        isFlying = false
        plan(now + waits.wait(after: failures + 1, random: random))
    }

    /// Something good was heard, which is worth a probe as soon as one may go.
    mutating func begin(_ now: Moment) {
        isFlying = false
        failures = 0
        refusedUntil = nil
        plan(now)
    }

    /// Something has changed on this side, and no server asked to wait with that.
    mutating func beginAgain(_ now: Moment) {
        heldUntil = nil
        begin(now)
    }

    mutating func hold(until moment: Moment) {
        heldUntil = moment
        next = moment
    }

    /// The next one need not wait longer than until then.
    mutating func hasten(to moment: Moment) {
        if let refusedUntil { self.refusedUntil = min(refusedUntil, moment) }
        if moment < next { plan(moment) }
    }

    private mutating func plan(_ moment: Moment) {
        next = max(moment, heldUntil ?? moment)
    }
}

/// A few results in a row, and what they say about the number in flight.
struct ResultWindow: Equatable {
    static let resultsMax = 10
    static let length: Duration = .seconds(3)

    enum Outcome: Equatable {
        case grow, stay, shrink, halve
    }

    private var began: Moment?
    private var results = 0
    private var failures = 0

    /// Counts a result; returns the outcome when the window ends. It ends early when nothing can
    /// change its outcome any more.
    mutating func count(isFailure: Bool, _ now: Moment) -> Outcome? {
        let began = began ?? now
        self.began = began
        results += 1
        if isFailure { failures += 1 }
        let isFull = results >= Self.resultsMax || now - began > Self.length
        guard isFull || failures * 10 > Self.resultsMax * 4 else { return nil }
        defer { self = ResultWindow() }
        if failures == 0 { return .grow }
        let percent = failures * 100 / max(results, 1)
        if percent <= 10 { return .stay }
        return percent <= 40 ? .shrink : .halve
    }
}
