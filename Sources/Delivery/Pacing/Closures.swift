import System

/// Times in which a server takes nothing: its rate has fallen, or it counts by the minute and the
/// minute's quota is used up. Which of the two only shows when it takes something again, and how
/// far to trust what was known before.
struct Closures: Equatable {
    private var began: Moment?
    /// The rate that the server was thought to take before.
    private var allowed = 0.0
    /// The length of the last cycle with enough requests to tell one, in seconds.
    var lastCycle = 0.0
    private var trust = Self.fullTrust
    /// A rate from before a closure is being tried.
    private var isTried = false

    private static let fullTrust = 0.5

    /// Nothing came through since that time.
    mutating func begin(_ moment: Moment, allowed: Double) {
        guard began == nil else { return }
        began = moment
        self.allowed = allowed
    }

    /// The server has taken something again: how long it took nothing, and a guess at its rate. Nil
    /// when it was open.
    mutating func end(_ now: Moment, request: Double) -> (seconds: Double, guess: Double)? {
        guard let began else { return nil }
        self.began = nil
        let seconds = max((now - began) / .seconds(1), 1e-3)
        return (seconds, guess(after: seconds, request))
    }

    private mutating func guess(after seconds: Double, _ request: Double) -> Double {
        // Chance alone makes gaps of this length.
        if seconds < 4 * request / allowed { return allowed * 0.85 }
        isTried = true
        // Probably the rest of a window that the server counts by: its rate is the same.
        if seconds < lastCycle / 4, trust == Self.fullTrust { return allowed * 0.9 }
        return min(allowed, max(allowed * trust, request / seconds))
    }

    /// A refusal: a guess that has not proved itself was too high.
    mutating func refused() {
        if isTried { trust *= 0.2 }
        isTried = false
    }

    /// A guess has proved itself.
    mutating func proved() {
        if isTried { trust = Self.fullTrust }
        isTried = false
    }
}
