import System

/// Logs that leave in the current transaction without being delivered. They are reported and
/// counted when it is durable.
struct TransactionLosses {
    private(set) var expired: [String: Int] = [:]
    private(set) var expiredLetters: [String: Int] = [:]
    /// Packets whose rows changed on the disk.
    private(set) var damaged: [(packet: Int64, logs: Int)] = []

    mutating func note(expired logs: [String: Int]) { expired.merge(logs) { $0 + $1 } }

    mutating func note(expiredLetters letters: [String: Int]) {
        expiredLetters.merge(letters) { $0 + $1 }
    }

    mutating func note(damaged logs: Int, in packet: Int64) {
        if logs > 0 { damaged.append((packet, logs)) }
    }

    /// Called after the transaction is durable. Gives the sums to the announcer. Returns the number
    /// of logs that damage has cost.
    mutating func settle(_ announcer: inout QueueAnnouncer, _ journal: Journal) -> Int {
        announcer.note(expired: expired, letters: expiredLetters)
        for (packet, logs) in damaged {
            journal.error(
                "logs changed on the disk and are discarded",
                ["packet": packet, "logs": logs]
            )
        }
        defer { self = TransactionLosses() }
        return damaged.reduce(0) { $0 + $1.logs }
    }
}
