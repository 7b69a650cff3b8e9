import System

extension Pace {
    mutating func stored(_ units: Double, _ ticket: Ticket, _ now: Moment) {
        usual.answered(after: (now - ticket.sent) / .seconds(1))
        taken.stored(units, isPaced: climb != nil, now)
        if climb == nil { return found(ticket, now) }
        if ticket.epoch < epoch {
            flood?.units += units
        } else {
            endFlood(now)
            endClosure(units, ticket, now)
            if isBeyond(units) { searchAgain(now) }
        }
    }

    mutating func refused(_ ticket: Ticket, _ now: Moment, random: Double) {
        schedule.refused(now)
        if ticket.epoch == epoch { endFlood(now) }
        // The end of the flood may have changed the rate; then this refusal is about the rate
        // before.
        guard ticket.epoch == epoch else {
            flood?.refusals += 1
            return
        }
        epoch += 1
        guard tellsRate(now) else { return searchOn(now, random: random) }
        let old = climb?.allowed
        var next = lesson(ticket, now)
        search = nil
        next.allowed = max(next.allowed, usual.units * Self.slowest)
        climb = next
        flood = Flood(began: now, mayRaise: old.map { isOutgrown(ticket, $0) } ?? false)
        // The server's account is empty: the next request waits until the account has enough for
        // it.
        schedule.wait(until: now + Self.duration(usual.units / next.allowed))
    }

    /// The slowest pace, in requests a second, while the server takes nothing.
    private static let slowest = 0.1

    // MARK: - What a refusal teaches

    private mutating func lesson(_ ticket: Ticket, _ now: Moment) -> Climb {
        closures.refused()
        guard let old = climb, let rate = ticket.rate else {
            let (units, seconds) = evidence(now)
            taken.measured = seconds
            taken.tally = TakenTally(began: now)
            return Climb(allowed: max(units / seconds, usual.units), began: now, from: Climb.low)
        }
        if taken.tally.requests == 0 { return close(old, rate, now) }
        let past = taken.tally
        let seconds = max((now - past.began) / .seconds(1), 1e-3)
        // Fewer requests measure nothing.
        if past.requests > 3 { taken.measured += seconds }
        taken.tally = TakenTally(began: now)
        if past.requests > 8 { closures.lastCycle = seconds }
        if isOutgrown(ticket, old.allowed) {
            estimate = PaceEstimate()
            let allowed = max(rate / 2, past.units / seconds)
            return Climb(allowed: allowed, began: now, from: Climb.level)
        }
        return corrected(rate, past, seconds, now)
    }

    /// The fewer requests came through since the last refusal, the more the rate was beyond what is
    /// allowed; after many, they themselves tell what that is.
    private mutating func corrected(
        _ rate: Double,
        _ past: TakenTally,
        _ seconds: Double,
        _ now: Moment
    ) -> Climb {
        estimate.add(past.units, in: seconds, memory: 2 * cycle)
        switch past.requests {
        case ...1:
            estimate = PaceEstimate()
            return Climb(allowed: rate * 0.6, began: now, from: Climb.level)
        case ...8: return Climb(allowed: rate * 0.85, began: now, from: Climb.level)
        default: break
        }
        // Where little was sent, what was stored tells nothing of the rate.
        if past.idle > 0.1 * seconds { estimate = PaceEstimate() }
        let allowed = min(estimate.rate ?? rate, rate)
        return Climb(allowed: allowed, began: now, from: Climb.low)
    }

    /// True when the server took much more than was thought, so that what was thought says nothing.
    private func isOutgrown(_ ticket: Ticket, _ allowed: Double) -> Bool {
        ticket.rate.map { $0 > 1.5 * allowed } ?? false
    }

    // MARK: - Floods

    /// The answers to requests that were sent before a refusal was known. When many of them are
    /// refused, the server's account stayed empty all the time: then those that it took are its
    /// rate.
    struct Flood: Equatable {
        let began: Moment
        /// The server took much more than was thought, so the flood may show a higher rate, too.
        let mayRaise: Bool
        var refusals = 0
        var units = 0.0
    }

    /// The first answer to what was sent after the refusal ends the flood.
    private mutating func endFlood(_ now: Moment) {
        guard let flood, let old = climb else { return }
        self.flood = nil
        let seconds = (now - flood.began) / .seconds(1)
        guard flood.refusals >= 5, flood.units >= 3 * usual.units, seconds > 0.02 else { return }
        let rate = flood.units / seconds
        guard rate < old.allowed || flood.mayRaise else { return }
        climb = Climb(allowed: rate, began: now, from: Climb.low)
        estimate = PaceEstimate()
        estimate.add(flood.units, in: seconds, memory: .infinity)
        epoch += 1
    }

    // MARK: - Closures

    /// Nothing came through since the last refusal: slower, and the tally goes on.
    private mutating func close(_ old: Climb, _ rate: Double, _ now: Moment) -> Climb {
        closures.begin(taken.tally.began, allowed: old.allowed)
        estimate = PaceEstimate()
        return Climb(allowed: rate * 0.6, began: now, from: Climb.level)
    }

    /// The server has taken something again.
    private mutating func endClosure(_ units: Double, _ ticket: Ticket, _ now: Moment) {
        guard let end = closures.end(now, request: usual.units) else {
            if taken.tally.requests >= 10 { closures.proved() }
            return
        }
        let isLong = end.seconds > 10
        var allowed = max(climb?.allowed ?? 0, end.guess)
        if isLong { allowed = max(allowed, usual.units) }
        climb = Climb(allowed: allowed, began: now, from: Climb.level)
        // After a long one anything may have changed: the climb is steep from the start.
        let ahead = isLong ? Self.duration(cycle) : .zero
        climb?.began = now + (.zero - ahead)
        schedule.hurry(until: ticket.sent + Self.duration(units / allowed))
    }
}
