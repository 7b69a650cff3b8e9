import System

/// The search for a first rate.
extension Pace {
    /// So many requests that were taken within a second tell a rate.
    private static let enough = 4.0
    /// A request that was taken though the pace has this many seconds for it proves the pace wrong.
    private static let tooLong = 4.0

    /// True when what was taken until this refusal tells a rate.
    mutating func tellsRate(_ now: Moment) -> Bool {
        if climb != nil { return true }
        guard let search else { return taken.recentRequests(now) >= Self.enough }
        return search.rate != nil && taken.tally.requests > 0
    }

    /// The units that were taken, and in how many seconds.
    mutating func evidence(_ now: Moment) -> (units: Double, seconds: Double) {
        guard let search else { return (taken.recentUnits(now), 1) }
        return (taken.tally.units, search.seconds(now))
    }

    /// A refusal that tells no rate: one more tries after a wait.
    mutating func searchOn(_ now: Moment, random: Double) {
        var search = search ?? Search()
        search.refused(now, random: random)
        self.search = search
        taken.tally = TakenTally(began: now)
        schedule.wait(until: now + search.wait)
    }

    /// A request goes that is to tell more.
    mutating func tried(_ now: Moment) -> Ticket {
        // A time without demand proves nothing.
        if now - next > Self.duration(Search.saved) { startMeasuring(now) }
        schedule.plan(after: search?.gap ?? .zero, now)
        return Ticket(epoch: epoch, sent: now, rate: search?.rate)
    }

    /// Something was taken while there was no rate.
    mutating func found(_ ticket: Ticket, _ now: Moment) {
        guard var search, ticket.epoch == epoch else { return }
        search.taken(ticket.sent, at: ticket.rate)
        schedule.hurry(until: ticket.sent + search.gap)
        self.search = search
        guard search.present >= Search.most else { return }
        self.search = nil
        epoch += 1
    }

    /// True when this one, which was taken, was more than the pace thinks possible: the pace was
    /// found with packets of another size.
    func isBeyond(_ units: Double) -> Bool {
        climb.map { units > Self.tooLong * max($0.allowed, usual.units) } ?? false
    }

    mutating func searchAgain(_ now: Moment) {
        disengage()
        search = Search(taken: now)
        startMeasuring(now)
        schedule.hurry(until: now)
    }

    private mutating func startMeasuring(_ now: Moment) {
        search?.press(now)
        taken.tally = TakenTally(began: now)
    }
}
