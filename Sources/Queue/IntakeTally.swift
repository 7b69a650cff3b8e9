/// What became of the logs of requests. A log counts once here, however many destinations get it.
///
/// `received = filtered + dropped + routed` always holds. The queue adds the tally of each request
/// that it stores, and over all ledgers `copies = accepted + skipped`.
package struct IntakeTally: Equatable, Sendable {
    /// Logs that requests contained.
    package var received = 0
    /// Logs that a filter dropped or sampled out.
    package var filtered = 0
    /// Logs that a route to no destination dropped.
    package var dropped = 0
    /// Logs that went to one destination or several.
    package var routed = 0
    /// Logs of all batches: a log for two destinations has two copies.
    package var copies = 0

    package init(
        received: Int = 0,
        filtered: Int = 0,
        dropped: Int = 0,
        routed: Int = 0,
        copies: Int = 0
    ) {
        self.received = received
        self.filtered = filtered
        self.dropped = dropped
        self.routed = routed
        self.copies = copies
    }

    /// The tally of logs that nothing filtered and that have one destination.
    package init(_ batches: [Batch]) {
        self.init(logs: batches.reduce(0) { $0 + $1.allLogs })
    }

    /// The tally of so many logs, each with one destination.
    package init(logs: Int) {
        self.init(received: logs, routed: logs, copies: logs)
    }

    package var isClosed: Bool { received == filtered + dropped + routed }

    package static func += (sum: inout IntakeTally, more: IntakeTally) {
        sum.received += more.received
        sum.filtered += more.filtered
        sum.dropped += more.dropped
        sum.routed += more.routed
        sum.copies += more.copies
    }

    package static func -= (sum: inout IntakeTally, less: IntakeTally) {
        sum.received -= less.received
        sum.filtered -= less.filtered
        sum.dropped -= less.dropped
        sum.routed -= less.routed
        sum.copies -= less.copies
    }

    /// Makes the tally agree with the sum of the ledgers after logs were lost or found. Found logs
    /// count as received and routed once.
    package mutating func settle(with ledgers: Ledger) {
        let found = Int(ledgers.accepted + ledgers.skipped) - copies
        copies += found
        routed = min(routed + max(found, 0), copies)
        received = filtered + dropped + routed
    }
}
