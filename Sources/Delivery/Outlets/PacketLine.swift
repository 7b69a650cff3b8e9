import Queue

/// The packets of an outlet: asked for, in line to be sent, or in flight. Pure bookkeeping;
/// `LeaseKeeper` decides which packets leave it.
///
/// A failed packet goes back to the head of the line, oldest first, without its content: so an
/// outage holds names in memory and not bodies. A packet that can only be judged when another one
/// was stored stands aside, behind all others.
struct PacketLine {
    /// Packets that may stand aside; more go back to the queue.
    static let asideMax = 16

    private(set) var requested = 0
    private(set) var inFlight = 0
    private(set) var ahead = PacketsAhead()
    /// Packets have arrived since the queue was last asked.
    private var hasArrivedSinceClaim = false
    /// Packets that have ended since the last arrival.
    private var endedSinceArrival = 0
    /// Packets that `LeaseKeeper` keeps for a time, since they are worth no request.
    private(set) var waitingElsewhere = 0
    /// Those of them that wait for the host's clock.
    private(set) var awaitingClock = 0
    /// Packets here or in flight that were not asked for.
    private var unrequested = 0
    private var returned: [Lease] = []
    private var fresh: [Lease] = []
    private var aside: [Lease] = []

    var hasNext: Bool { !(returned.isEmpty && fresh.isEmpty && aside.isEmpty) }
    /// Those that no request carries now.
    var waitingCount: Int { returned.count + fresh.count + aside.count + waitingElsewhere }
    /// Those that wait because something went wrong.
    var failedCount: Int { returned.count + aside.count + waitingElsewhere }
    var isEmpty: Bool { inFlight == 0 && waitingCount == 0 }

    /// Packets on lease or on their way, when the queue is asked for more. Packets aside do not
    /// count, since they wait for another one to be stored. Nor do some that wait for the host's
    /// clock, so that others are delivered; with more of them the logstore waits, too.
    private var claimed: Int {
        requested + inFlight + waitingCount - aside.count - min(awaitingClock, Self.asideMax)
    }

    /// Returns how many packets to ask the queue for, so that at most `wanted` are claimed.
    ///
    /// An outlet that had nothing asks for one, and for more when packets come. Packets stored
    /// since the last hand-over count as if they were here, so the next one may be as large; by
    /// half, unless the outlet runs out between hand-overs. An idle outlet keeps no more for a
    /// burst.
    mutating func claim(upTo wanted: Int) -> Int {
        hasArrivedSinceClaim = false
        let ended = ahead.isShort ? endedSinceArrival : (endedSinceArrival + 1) / 2
        let active = inFlight + returned.count + fresh.count + ended
        // What was not asked for takes up to half, so that the gateway's own logs go on.
        let places = max(wanted - unrequested, (wanted + 1) / 2)
        let count = max(0, min(places, 1 + 2 * active) - max(0, claimed - unrequested))
        requested += count
        return count
    }

    private var rest: PacketsAhead.Rest {
        if hasNext { return .waiting }
        return inFlight == 0 ? .none : .some
    }

    /// The queue has forgotten what it was asked for.
    mutating func forgetRequests() {
        requested = 0
        endedSinceArrival = 0
    }

    /// A packet of a hand-over. The queue is asked for more when all of them are here.
    mutating func arrived(_ lease: Lease, inFlightMax: Int) {
        if !hasArrivedSinceClaim { ahead.handOverBegan(with: rest) }
        hasArrivedSinceClaim = true
        endedSinceArrival = 0
        fresh.append(lease)
        guard !lease.packet.isUnrequested else {
            unrequested += 1
            return
        }
        guard requested > 0 else { return }
        requested -= 1
        if requested == 0 { ahead.gotAll(inFlightMax: inFlightMax) }
    }

    /// The packet that `next` would return.
    var upcoming: Lease? { returned.first ?? fresh.first ?? aside.first }

    /// The packet to send now. It is in flight until `ended`, `failed` or one of the others.
    mutating func next() -> Lease? {
        guard hasNext else { return nil }
        inFlight += 1
        if !returned.isEmpty { return returned.removeFirst() }
        return fresh.isEmpty ? aside.removeFirst() : fresh.removeFirst()
    }

    /// The packet is the queue's again, or stored.
    mutating func ended(_ lease: Lease) {
        leaveFlight()
        left(lease)
        endedSinceArrival += 1
    }

    /// The packet is to be sent again.
    mutating func failed(_ lease: Lease) {
        leaveFlight()
        line(up: lease)
    }

    /// The packet goes again when all others have had their turn. Returns the one that has stood
    /// aside for longest, and must go, when there are too many.
    mutating func setAside(_ lease: Lease) -> Lease? {
        leaveFlight()
        aside.append(lease.dropped)
        return takeSurplus()
    }

    /// The packet that has stood aside for longest, if too many do.
    private mutating func takeSurplus() -> Lease? {
        guard aside.count > Self.asideMax else { return nil }
        let lease = aside.removeFirst()
        left(lease)
        return lease
    }

    private mutating func left(_ lease: Lease) {
        if lease.packet.isUnrequested { unrequested -= 1 }
    }

    /// Another packet was stored: those that stood aside can be judged now.
    mutating func recall() {
        while let lease = aside.popLast() { line(up: lease) }
    }

    /// Takes out those of the packets that wait here.
    mutating func takeOut(_ ids: Set<PacketID>) -> [Lease] {
        func isMeant(_ lease: Lease) -> Bool { ids.contains(lease.packet.id) }
        let taken = (returned + fresh + aside).filter(isMeant)
        guard !taken.isEmpty else { return [] }
        returned.removeAll(where: isMeant)
        fresh.removeAll(where: isMeant)
        aside.removeAll(where: isMeant)
        for lease in taken { left(lease) }
        return taken
    }

    /// `LeaseKeeper` keeps the packet for a time.
    mutating func keptBack(_ lease: Lease) {
        leaveFlight()
        waitingElsewhere += 1
        if lease.awaitsClock { awaitingClock += 1 }
    }

    /// It is worth another try.
    mutating func lineUpAgain(_ lease: Lease) {
        precondition(waitingElsewhere > 0, "a packet comes back once")
        waitingElsewhere -= 1
        line(up: lease)
    }

    /// One that waited for the clock goes again after all others, since nothing tells that the
    /// clock is right. Returns one that must go, as `setAside` does.
    mutating func standAside(_ original: Lease) -> Lease? {
        var lease = original
        precondition(waitingElsewhere > 0, "a packet comes back once")
        waitingElsewhere -= 1
        awaitingClock -= 1
        lease.awaitsClock = false
        aside.append(lease.dropped)
        return takeSurplus()
    }

    private mutating func leaveFlight() {
        precondition(inFlight > 0, "a packet leaves its request once")
        inFlight -= 1
    }

    private mutating func line(up lease: Lease) {
        let place = returned.firstIndex { $0.packet.id > lease.packet.id }
        returned.insert(lease.dropped, at: place ?? returned.endIndex)
    }
}

extension Lease {
    fileprivate var dropped: Lease {
        var lease = self
        lease.dropContent()
        return lease
    }
}

/// The packets that an outlet asks for beyond those in flight. Pure.
///
/// The queue hands packets over once in a commit. On a full machine a commit takes longer than the
/// requests of a hand-over: delivery would have nothing to send, and the gateway accept more than
/// it delivers. So an outlet that had run out, and then got all it asked for, doubles the extra.
/// One in which packets still waited lowers it by one.
struct PacketsAhead: Equatable {
    /// Beyond the quarter that is always asked for.
    private var extra = 0
    /// What the outlet had when the present hand-over began.
    private var rest = Rest.some

    enum Rest {
        /// Nothing, not even in flight.
        case none
        /// Only packets in flight.
        case some
        /// Packets that waited to be sent.
        case waiting
    }

    /// It runs out between hand-overs, so the next one should be at least as large.
    var isShort: Bool { extra > 0 }

    /// A quarter of those that may be in flight and the extra; at most twice as many.
    func count(inFlightMax limit: Int) -> Int {
        min(2 * limit, max(1, limit / 4) + extra)
    }

    mutating func handOverBegan(with rest: Rest) {
        self.rest = rest
        if rest == .waiting { extra = max(0, extra - 1) }
    }

    /// The queue gave all it was asked for, so it may have more.
    mutating func gotAll(inFlightMax limit: Int) {
        if rest == .none { extra = min(2 * limit, max(1, extra * 2)) }
    }
}
