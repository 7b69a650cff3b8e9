import Queue
import SQLite

extension QueueOwner {
    /// What the first request of this one's identity was answered with, if it is remembered.
    func repetition(of append: Append, in store: OpenStore) throws(SQLiteError) -> AppendOutcome? {
        guard let identity = append.identity, let first = try store.first(of: identity) else {
            return nil
        }
        return .repeated(receipt: first.receipt, logs: first.logs)
    }

    /// After a commit.
    func countRepeats(
        _ taken: [(append: Append, outcome: AppendOutcome)],
        in store: OpenStore
    ) {
        for case (_, .repeated) in taken { counts.repeated += 1 }
        counts.forgottenEarly += store.forgottenEarly
        store.forgottenEarly = 0
    }
}
