import System

extension Pace {
    mutating func stored(_ units: Double, _ ticket: Ticket, _ now: Moment) {
        learn(latency: (now - ticket.sent) / .seconds(1))
        tally.units += units
        tally.requests += 1
        if climb == nil {
            recent.add(units, now)
            recentRequests.add(1, now)
            return found(ticket, now)
        }
        if ticket.epoch < epoch {
            flood?.units += units
        } else {
            endFlood(now)
            endClosure(units, ticket, now)
            if isBeyond(units) { searchAnew(now) }
        }
    }

    mutating func refused(_ ticket: Ticket, _ now: Moment, random: Double) {
        lastRefusal = now
        if ticket.epoch == epoch { endFlood(now) }
        // The flood may have changed the rate.
        guard ticket.epoch == epoch else {
            flood?.refusals += 1
            return
        }
        epoch += 1
        guard isTelling(now) else { return searchOn(now, random: random) }
        let old = climb?.allowed
        var next = lesson(ticket, now)
        search = nil
        next.allowed = max(next.allowed, request * Self.slowest)
        climb = next
        flood = Flood(began: now, mayRaise: old.map { isOutgrown(ticket, $0) } ?? false)
        // Nothing is left in the server's account; until one more is, there is nothing to try.
        wait(until: now + Self.duration(request / next.allowed))
    }

    /// So many requests a second are tried of a server that takes none.
    private static let slowest = 0.1

    /// What a refusal teaches.
    private mutating func lesson(_ ticket: Ticket, _ now: Moment) -> Climb {
        reopening.refused()
        guard let old = climb, let rate = ticket.rate else {
            let (units, seconds) = evidence(now)
            measured = seconds
            tally = Tally(began: now)
            return Climb(allowed: max(units / seconds, request), began: now, from: Climb.low)
        }
        if tally.requests == 0 { return close(old, rate, now) }
        let past = tally
        let seconds = max((now - past.began) / .seconds(1), 1e-3)
        // What is cut short by chance is no measure.
        if past.requests > 3 { measured += seconds }
        tally = Tally(began: now)
        if past.requests > 8 { reopening.cycle = seconds }
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
        _ past: Tally,
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

    /// Whether the server took much more than was thought, so that what was thought says nothing.
    private func isOutgrown(_ ticket: Ticket, _ allowed: Double) -> Bool {
        ticket.rate.map { $0 > 1.5 * allowed } ?? false
    }
}
