/// The persistent counters of one destination, in logs.
///
/// `accepted = delivered + queued + dead + expired + discarded`, always: they change in the
/// transactions that change the data.
package struct Ledger: Equatable, Sendable {
    package var accepted: Int64 = 0
    package var delivered: Int64 = 0
    package var queued: Int64 = 0
    package var dead: Int64 = 0
    package var expired: Int64 = 0
    package var discarded: Int64 = 0

    package init() {}

    package var isClosed: Bool {
        accepted == delivered + queued + dead + expired + discarded
    }

    package static func + (left: Ledger, right: Ledger) -> Ledger {
        var sum = left
        sum.accepted += right.accepted
        sum.delivered += right.delivered
        sum.queued += right.queued
        sum.dead += right.dead
        sum.expired += right.expired
        sum.discarded += right.discarded
        return sum
    }
}
