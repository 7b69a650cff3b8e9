/// What came to a destination and left it since the start, in bytes of logs before compression; what the ledger
/// counts in logs for ever.
package struct Volumes: Equatable, Sendable {
    /// Also of logs that were dead letters at once.
    package var accepted = 0
    package var delivered = 0
    package var dead = 0
    package var expired = 0
    /// Without logs that a policy dropped as they came: nothing of them was kept that could be measured.
    package var discarded = 0
    /// Logs that became dead letters; the ledger knows only how many there are.
    package var died = 0

    package init() {}

    static func += (sum: inout Volumes, more: Volumes) {
        sum.accepted += more.accepted
        sum.delivered += more.delivered
        sum.dead += more.dead
        sum.expired += more.expired
        sum.discarded += more.discarded
        sum.died += more.died
    }
}
