import System

/// Logs that go without being delivered in the transaction at hand: told and counted when it is durable.
struct TransactionLosses {
    var expired: [String: Int] = [:]
    var expiredLetters: [String: Int] = [:]
    /// Of these packets rows changed on the disk.
    var damaged: [(packet: Int64, logs: Int)] = []
}

extension QueueOwner {
    func settleLosses() {
        expiredUnsaid.add(losses.expired)
        expiredLettersUnsaid.add(losses.expiredLetters)
        for (packet, logs) in losses.damaged {
            counts.lostLogs += logs
            journal.error(
                "logs changed on the disk and are discarded",
                ["packet": packet, "logs": logs]
            )
        }
        losses = TransactionLosses()
    }
}
