import Queue

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
            let aside = aside(of: destination.name)
            let queued = destination.queuedLogs + Int(aside.queued)
            let dead = destination.deadLetters + Int(aside.dead)
            guard !ledger.isClosed || ledger.queued != queued || ledger.dead != dead else {
                return nil
            }
            return Imbalance(
                destination: destination.name,
                ledger: ledger,
                queued: queued,
                dead: dead
            )
        }
    }
}
