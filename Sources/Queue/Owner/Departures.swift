import System

/// Packets that delivery gave back without having delivered them, until they are dealt with; and what became
/// of such since the start.
struct Departures {
    /// Refused by their destination for what is in them.
    var isolations: [Isolation] = []
    /// Dropped because the operator wants it so.
    var discards: [(number: Int64, reason: DeathReason)] = []

    /// Those of the transaction at hand.
    var isolated: Set<Int64> = []
    var discarded: [(destination: String, logs: Int, reason: DeathReason)] = []
    /// A transaction took apart as many as it may, and others could be.
    var hasMore = false

    var isolationsDone = 0
    var discardsOf: [String: Discards] = [:]

    // What the journal has not said yet, and when it may.
    var unsaidLogs = 0
    var nextWarning = Moment(nanoseconds: 0)
    var nextRoomWarning = Moment(nanoseconds: 0)

    struct Isolation {
        let number: Int64
        let reason: DeathReason
        /// Room for dead letters that it waits for; nil until it was tried.
        var needs: Int?
    }

    struct Discards: Equatable {
        var logs = 0
        var last: DeathReason
    }

    /// Packets of one transaction, and bytes: taking a packet apart reads, cuts and compresses it, and each dead
    /// letter is a row.
    static let packetsMax = 64
    static let bytesMax = 4 << 20

    mutating func isolate(_ number: Int64, because reason: DeathReason) {
        isolations.append(Isolation(number: number, reason: reason))
    }
}
