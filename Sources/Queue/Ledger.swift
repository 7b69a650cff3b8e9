package import JSON

/// The persistent counters of one destination, in logs.
///
/// `accepted = delivered + queued + dead + expired + discarded` always holds: the counters change
/// in the transactions that change the data.
package struct Ledger: Equatable, Sendable {
    package var accepted: Int64 = 0
    package var delivered: Int64 = 0
    package var queued: Int64 = 0
    package var dead: Int64 = 0
    package var expired: Int64 = 0
    package var discarded: Int64 = 0
    /// Logs of optional batches that found no room. They were not accepted.
    package var skipped: Int64 = 0

    package init() {}

    /// All counts by name, in the order of the columns on the disk.
    package static let accounts:
        [(name: String, count: any WritableKeyPath<Ledger, Int64> & Sendable)] = [
            ("accepted", \.accepted), ("delivered", \.delivered), ("queued", \.queued),
            ("dead", \.dead), ("expired", \.expired), ("discarded", \.discarded),
            ("skipped", \.skipped),
        ]

    /// Where accepted logs are now, as one sum.
    package var settled: Int64 { delivered + queued + dead + expired + discarded }

    package var isClosed: Bool { accepted == settled }

    /// The same as if its dead letters had never come here.
    package var withoutDead: Ledger {
        var ledger = self
        ledger.accepted -= dead
        ledger.dead = 0
        return ledger
    }

    package static func + (left: Ledger, right: Ledger) -> Ledger {
        var sum = left
        for (_, count) in accounts { sum[keyPath: count] += right[keyPath: count] }
        return sum
    }
}

/// The same in bytes before compression. They begin with each start; the ledger continues.
package struct Volumes: Equatable, Sendable {
    /// Includes logs that became dead letters at once.
    package var accepted = 0
    package var delivered = 0
    package var dead = 0
    package var expired = 0
    /// Without logs dropped on arrival, of which the gateway keeps nothing that it could measure.
    package var discarded = 0
    /// The number of logs that became dead letters. The ledger knows only the present ones.
    package var died = 0

    package init() {}

    package static func += (sum: inout Volumes, more: Volumes) {
        sum.accepted += more.accepted
        sum.delivered += more.delivered
        sum.dead += more.dead
        sum.expired += more.expired
        sum.discarded += more.discarded
        sum.died += more.died
    }
}

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

    /// Makes the tally agree with the ledgers. Found logs count as received and routed once.
    package mutating func settle(with ledgers: Ledger) {
        let found = Int(ledgers.accepted + ledgers.skipped) - copies
        copies += found
        routed = min(routed + max(found, 0), copies)
        received = filtered + dropped + routed
    }
}

extension JSONWriter {
    package mutating func intake(_ tally: IntakeTally) {
        member("received", tally.received)
        member("filtered", tally.filtered)
        member("dropped", tally.dropped)
        member("routed", tally.routed)
        member("copies", tally.copies)
    }

    package mutating func ledger(_ ledger: Ledger) {
        for (name, count) in Ledger.accounts { member(name, ledger[keyPath: count]) }
    }
}
