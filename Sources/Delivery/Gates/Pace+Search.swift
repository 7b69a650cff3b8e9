import System

/// The time in which nothing is known that would make a rate.
extension Pace {
    /// So many requests that were taken within a second tell a rate.
    private static let enough = 4.0
    /// One that was taken and is worth so many seconds of the pace tells that it is none.
    private static let tooLong = 4.0

    /// Whether what was taken until this refusal tells a rate.
    mutating func isTelling(_ now: Moment) -> Bool {
        if climb != nil { return true }
        guard let search else { return recentRequests.sum(now) >= Self.enough }
        return search.rate != nil && tally.requests > 0
    }

    /// What was taken, and in how many seconds. Since the last refusal, when the account was empty; after
    /// a long wait it may have been full, and has given what it had saved up.
    mutating func evidence(_ now: Moment) -> (units: Double, seconds: Double) {
        guard let search else { return (recent.sum(now), 1) }
        let sinceRefusal = (now - searchedSince) / .seconds(1)
        let sincePressed = (now - search.pressed) / .seconds(1)
        return (tally.units, max(min(sinceRefusal, Search.saved + sincePressed), 1e-3))
    }

    /// A refusal that tells no rate: one more tries after a wait.
    mutating func searchOn(_ now: Moment, random: Double) {
        var search = search ?? Search()
        search.refused(random: random)
        self.search = search
        tally = Tally(began: now)
        searchedSince = now
        wait(until: now + search.wait)
    }

    /// One goes that is to tell more.
    mutating func tried(_ now: Moment) -> Ticket {
        // A time without demand proves nothing.
        if now - next > Self.duration(Search.saved) { startMeasuring(now) }
        plan(after: search?.gap ?? .zero, now)
        return Ticket(epoch: epoch, sent: now, rate: search?.rate)
    }

    /// Something was taken while there was no rate.
    mutating func found(_ ticket: Ticket, _ now: Moment) {
        guard var search, ticket.epoch == epoch else { return }
        search.taken(ticket.sent, at: ticket.rate)
        hurry(until: ticket.sent + search.gap)
        self.search = search
        guard search.present >= Search.most else { return }
        self.search = nil
        epoch += 1
    }

    /// Whether this one, which was taken, was more than the pace thinks possible: it was found with
    /// packets of another size.
    func isBeyond(_ units: Double) -> Bool {
        climb.map { units > Self.tooLong * max($0.allowed, request) } ?? false
    }

    mutating func searchAnew(_ now: Moment) {
        disengage()
        var search = Search()
        search.taken(now, at: nil)
        self.search = search
        // The account is not empty, as it is after a refusal.
        searchedSince = now + (.zero - Self.duration(Search.saved))
        startMeasuring(now)
        hurry(until: now)
    }

    private mutating func startMeasuring(_ now: Moment) {
        search?.press(now)
        tally = Tally(began: now)
    }
}
