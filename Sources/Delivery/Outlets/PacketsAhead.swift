/// How many packets an outlet asks the queue for beyond those that may be in flight. Pure.
///
/// The queue hands packets over once in a commit. While the machine is full, a commit takes longer than the requests
/// that send a hand-over: delivery would wait for the next one with nothing to send, and the gateway would accept more
/// than it delivers. So an outlet that had run out when the queue gave all it was asked for asks for twice as many
/// ahead, and one that still had some for one less.
struct PacketsAhead: Equatable {
    /// Beyond the quarter that is always asked for.
    private var extra = 0
    /// The outlet had nothing to send when the present hand-over began.
    private var hadRunOut = false

    /// A quarter of those that may be in flight, and at most as many.
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
