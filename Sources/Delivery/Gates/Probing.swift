import System

/// A gate that lets one at a time through, to see whether things are well again.
struct Probing: Equatable {
    /// When the next probe may go.
    var next: Moment
    var isFlying = false
    private(set) var failures = 0
    private(set) var waits: Backoff

    /// The first probe comes after a wait, too: what has just refused needs a moment.
    init(_ waits: Backoff, _ now: Moment, random: Double) {
        self.waits = waits
        next = now + waits.wait(after: 1, random: random)
    }

    mutating func probeFailed(_ now: Moment, random: Double) {
        isFlying = false
        failures += 1
        next = now + waits.wait(after: failures + 1, random: random)
    }

    /// The probe said nothing about this scope.
    mutating func probeEnded(_ now: Moment, random: Double) {
        isFlying = false
        next = now + waits.wait(after: failures + 1, random: random)
    }

    /// Something has changed, which is worth a probe at once.
    mutating func begin(_ now: Moment) {
        isFlying = false
        failures = 0
        next = now
    }
}
