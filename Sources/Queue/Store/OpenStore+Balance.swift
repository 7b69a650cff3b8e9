/// A ledger that does not say what is here.
struct Imbalance: Equatable {
    let destination: String
    let ledger: Ledger
    /// What was counted where logs and dead letters come and go.
    let queued: Int
    let dead: Int

    /// By how many logs, wherever they are missing; never 0.
    var logs: Int {
        let sum =
            ledger.delivered + ledger.queued + ledger.dead + ledger.expired + ledger.discarded
        return Int(clamping: (ledger.accepted - sum).magnitude)
            + Int(clamping: (ledger.queued - Int64(queued)).magnitude)
            + Int(clamping: (ledger.dead - Int64(dead)).magnitude)
    }
}

extension OpenStore {
    /// Compares each ledger with itself and with what was counted apart from it. Holds between transactions.
    func imbalances() -> [Imbalance] {
        destinations.values.compactMap { destination in
            let ledger = destination.ledger
            guard
                !ledger.isClosed || ledger.queued != destination.queuedLogs
                    || ledger.dead != destination.deadLetters
            else { return nil }
            return Imbalance(
                destination: destination.name,
                ledger: ledger,
                queued: destination.queuedLogs,
                dead: destination.deadLetters
            )
        }
    }
}
