/// How many packets an outlet asks the queue for beyond those that may be in flight. Pure.
///
/// The queue hands packets over once in a commit. While the machine is full, a commit takes longer than the requests
/// that send a hand-over: delivery would wait for the next one with nothing to send, and the gateway would accept more
/// than it delivers. So an outlet that had run out, and then got all it asked for, doubles the extra. An outlet that
/// still had packets lowers it by one.
struct PacketsAhead: Equatable {
    /// Beyond the quarter that is always asked for.
    private var extra = 0
    /// The outlet had nothing to send when the present hand-over began.
    private var hadRunOut = false

    /// A quarter of those that may be in flight and the extra, at most as many as may be in flight.
    func count(inFlightMax limit: Int) -> Int {
        min(limit, max(1, limit / 4) + extra)
    }

    mutating func handOverBegan(hadRunOut: Bool) {
        self.hadRunOut = hadRunOut
        if !hadRunOut { extra = max(0, extra - 1) }
    }

    /// The queue gave all it was asked for, so it may have more.
    mutating func wasMetInFull(inFlightMax limit: Int) {
        if hadRunOut { extra = min(limit, max(1, extra * 2)) }
    }
}
