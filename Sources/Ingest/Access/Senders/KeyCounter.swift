package import System

/// The requests of one key, and the used parts of its budgets. All loops and the queue's thread count here, without a
/// lock.
package final class KeyCounter: Sendable {
    package enum Count: Int, CounterKey {
        case requests, logs
        /// After inflating.
        case bodyBytes
    }

    /// Why a request was refused, as metrics name it.
    package enum Reason: String, CounterKey {
        case bytes, destination, origin, rate
    }

    let rateMeter = Meter()
    let byteMeter = Meter()
    let taken = CounterSet<Count>()
    let refused = CounterSet<Reason>()

    func countAccepted(_ figures: IngestCounters.Figures) {
        taken.count(.requests)
        taken.count(.logs, figures.logs)
        taken.count(.bodyBytes, figures.bodyBytes)
    }
}

/// What came with one key.
package struct KeyCounts: Sendable {
    package let name: String
    package let taken: Counts<KeyCounter.Count>
    package let refused: Counts<KeyCounter.Reason>
}
