package import System

/// What a filter did to logs.
package enum FilterCounter: Int, CounterKey {
    /// Logs that the filter was applied to.
    case seen
    case changed, dropped, sampledOut
    /// Logs on which a step failed.
    case failed
    /// Logs that its `split` steps added.
    case added
}

/// What filters did, over all threads. A filter is known by its name, so its figures outlive a
/// reload.
package final class FilterCounters: Sendable {
    private let sets = Locked<[String: CounterSet<FilterCounter>]>([:])

    package init() {}

    /// In the order of the names.
    package var counts: [(filter: String, counts: Counts<FilterCounter>)] {
        sets.withLock { $0.sorted { $0.key < $1.key } }.map { ($0.key, $0.value.counts) }
    }

    func set(for filter: String) -> CounterSet<FilterCounter> {
        sets.withLock { sets in
            let set = sets[filter] ?? CounterSet()
            sets[filter] = set
            return set
        }
    }
}
