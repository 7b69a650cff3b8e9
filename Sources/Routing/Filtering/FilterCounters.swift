import System

/// What filters did, over all threads. A filter is known by its name, so its figures outlive a reload.
package final class FilterCounters: Sendable {
    package struct Counts: Sendable, Equatable {
        /// Logs that the filter was applied to.
        package var seen = 0
        package var changed = 0
        package var dropped = 0
        package var sampledOut = 0
        /// Logs on which a step failed.
        package var failed = 0
        /// Logs that its `split` steps added.
        package var added = 0

        package init() {}
    }

    private let lists = Locked<[String: CounterList]>([:])

    package init() {}

    /// In the order of the names.
    package var counts: [(filter: String, counts: Counts)] {
        lists.withLock { $0.sorted { $0.key < $1.key } }.map { name, list in
            var counts = Counts()
            counts.seen = list[0]
            counts.changed = list[1]
            counts.dropped = list[2]
            counts.sampledOut = list[3]
            counts.failed = list[4]
            counts.added = list[5]
            return (name, counts)
        }
    }

    func list(for filter: String) -> CounterList {
        lists.withLock { lists in
            if let known = lists[filter] { return known }
            let list = CounterList(count: 6)
            lists[filter] = list
            return list
        }
    }
}

extension FilterCounters.Counts {
    func add(to list: CounterList) {
        for (index, more) in [seen, changed, dropped, sampledOut, failed, added].enumerated()
        where more > 0 {
            list.add(more, at: index)
        }
    }
}
