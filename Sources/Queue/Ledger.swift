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

    package var isClosed: Bool {
        accepted == delivered + queued + dead + expired + discarded
    }

    /// The same as if its dead letters had never come here.
    package var withoutDead: Ledger {
        var ledger = self
        ledger.accepted -= dead
        ledger.dead = 0
        return ledger
    }

    package static func + (left: Ledger, right: Ledger) -> Ledger {
        var sum = left
        sum.accepted += right.accepted
        sum.delivered += right.delivered
        sum.queued += right.queued
        sum.dead += right.dead
        sum.expired += right.expired
        sum.discarded += right.discarded
        sum.skipped += right.skipped
        return sum
    }
}

/// The same counts in bytes of logs before compression. They begin with each start, while the
/// ledger continues.
package struct Volumes: Equatable, Sendable {
    /// Includes logs that became dead letters at once.
    package var accepted = 0
    package var delivered = 0
    package var dead = 0
    package var expired = 0
    /// Without logs that a policy dropped on arrival: the gateway keeps nothing of them that it
    /// could measure.
    package var discarded = 0
    /// The number of logs that became dead letters. The ledger knows only the present number of
    /// dead letters.
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
