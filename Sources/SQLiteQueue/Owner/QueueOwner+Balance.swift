import Queue
import System

extension QueueOwner {
    /// Says in the journal when a ledger does not agree with what is here. It would be a mistake of ours: it is
    /// shown and counted, and put right only by a start, which counts everything anew.
    func checkBalance(of store: OpenStore) {
        let found = store.imbalances()
        for imbalance in found where !imbalances.contains(imbalance) {
            counts.ledgerImbalances += 1
            let ledger = imbalance.ledger
            journal.error(
                "ledger does not agree with the queue",
                [
                    "destination": imbalance.destination,
                    "accepted": ledger.accepted, "delivered": ledger.delivered,
                    "queued": ledger.queued, "dead": ledger.dead,
                    "expired": ledger.expired, "discarded": ledger.discarded,
                    "found_queued": imbalance.queued, "found_dead": imbalance.dead,
                    "remedy": "report it, and restart: a start counts what is here",
                ]
            )
        }
        imbalances = found
    }
}
