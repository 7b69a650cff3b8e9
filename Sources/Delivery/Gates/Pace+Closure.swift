import System

extension Pace {
    /// A time in which the server takes nothing: its rate has fallen, or it counts by the minute and the
    /// minute's quota is used up. Which of the two only shows when it takes something again.
    struct Closure: Equatable {
        let began: Moment
        /// What it was thought to take before.
        let allowed: Double
    }

    /// How far to trust what was known before a closure.
    struct Reopening: Equatable {
        /// The length of the last cycle that was worth the name, in seconds.
        var cycle = 0.0
        private(set) var trust = 0.5
        private var isTried = false

        var isTrusted: Bool { trust == 0.5 }

        mutating func begin() { isTried = true }

        /// A refusal before it has proved itself.
        mutating func refused() {
            if isTried { trust *= 0.2 }
            isTried = false
        }

        mutating func proved() {
            if isTried { trust = 0.5 }
            isTried = false
        }
    }

    /// Nothing came through since the last refusal: slower, and the tally goes on.
    mutating func close(_ old: Climb, _ rate: Double, _ now: Moment) -> Climb {
        if closure == nil { closure = Closure(began: tally.began, allowed: old.allowed) }
        estimate = PaceEstimate()
        return Climb(allowed: rate * 0.6, began: now, from: Climb.level)
    }

    /// The server has taken something again.
    mutating func endClosure(_ units: Double, _ ticket: Ticket, _ now: Moment) {
        guard let closure else {
            if tally.requests >= 10 { reopening.proved() }
            return
        }
        self.closure = nil
        let seconds = max((now - closure.began) / .seconds(1), 1e-3)
        let isLong = seconds > 10
        var allowed = climb?.allowed ?? 0
        allowed = max(allowed, guess(closure, seconds))
        if isLong { allowed = max(allowed, request) }
        climb = Climb(allowed: allowed, began: now, from: Climb.level)
        // After a long one anything may have changed: the climb is steep from the start.
        let ahead = isLong ? Self.duration(cycle) : .zero
        climb?.began = now + (.zero - ahead)
        hurry(until: ticket.sent + Self.duration(units / allowed))
    }

    private mutating func guess(_ closure: Closure, _ seconds: Double) -> Double {
        // No longer than chance makes it.
        if seconds < 4 * request / closure.allowed { return closure.allowed * 0.85 }
        reopening.begin()
        // The rest of a window, not another rate.
        if seconds < reopening.cycle / 4, reopening.isTrusted { return closure.allowed * 0.9 }
        return min(closure.allowed, max(closure.allowed * reopening.trust, request / seconds))
    }
}
