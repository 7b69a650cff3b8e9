import Queue
import System

/// Sums that the journal says once a minute, each for itself.
struct Unsaid<Key: Hashable> {
    private var sums: [Key: Int] = [:]
    private var next: [Key: Moment] = [:]

    mutating func add(_ more: [Key: Int]) {
        sums.merge(more) { $0 + $1 }
    }

    /// What may be said now.
    mutating func takeDue(_ now: Moment) -> [Key: Int] {
        let due = sums.filter { next[$0.key].map { $0 <= now } ?? true }
        for key in due.keys {
            sums[key] = nil
            next[key] = now + .seconds(60)
        }
        return due
    }
}
