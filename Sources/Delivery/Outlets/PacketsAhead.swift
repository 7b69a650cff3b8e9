/// How many packets an outlet asks the queue for beyond those that may be in flight. Pure.
///
/// The queue hands packets over once in a commit. While the machine is full, a commit takes longer
/// than the requests that send a hand-over: delivery would wait for the next one with nothing to
/// send, and the gateway would accept more than it delivers. So an outlet that had run out, and
/// then got all it asked for, doubles the extra. An outlet in which packets still waited to be sent
/// lowers it by one.
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

    /// It runs out between hand-overs, so the next one should be as large as the last one, or
    /// larger.
    var isShort: Bool { extra > 0 }

    /// A quarter of those that may be in flight and the extra, at most twice as many as may be in
    /// flight.
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
