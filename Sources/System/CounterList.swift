import Synchronization

/// A fixed number of counters that any thread adds to, in one block of memory. With an array of objects, retain and
/// release would cost three times as much as the addition.
package final class CounterList: Sendable {
    let count: Int
    /// The pointer never changes and the memory is freed in deinit only; the elements are atomics.
    private nonisolated(unsafe) let values: UnsafeMutablePointer<Atomic<Int>>

    package init(count: Int) {
        self.count = count
        values = .allocate(capacity: count)
        for index in 0..<count { (values + index).initialize(to: Atomic(0)) }
    }

    deinit {
        values.deinitialize(count: count)
        values.deallocate()
    }

    package subscript(index: Int) -> Int {
        precondition(index >= 0 && index < count)
        return values[index].load(ordering: .relaxed)
    }

    package func add(_ more: Int, at index: Int) {
        precondition(index >= 0 && index < count)
        values[index].add(more, ordering: .relaxed)
    }
}

/// A histogram of durations with Prometheus buckets, counted from any thread without a lock.
package final class DurationCounter: Sendable {

    package init() {}
    /// The counts so far. A count in progress may be in one part and not yet in another.
    package struct Counts: Sendable, Equatable {
        /// Not cumulative; the last bucket holds durations above every bound.
        package var buckets = [Int](repeating: 0, count: bounds.count + 1)
        package var sum = Duration.zero

        package init() {}
    }

    /// Upper bounds in seconds.
    package static let bounds: [Double] = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]
    private static let limits = bounds.map { Int64($0 * 1e9) }

    private let buckets = CounterList(count: bounds.count + 1)
    private let nanoseconds = Atomic<Int64>(0)

    package func count(since start: Moment) {
        count(nanoseconds: Moment.now.nanoseconds - start.nanoseconds)
    }

    func count(nanoseconds taken: Int64) {
        var bucket = 0
        while bucket < Self.limits.count, taken > Self.limits[bucket] { bucket += 1 }
        buckets.add(1, at: bucket)
        nanoseconds.add(taken, ordering: .relaxed)
    }

    package var counts: Counts {
        var counts = Counts()
        for index in 0..<buckets.count { counts.buckets[index] = buckets[index] }
        counts.sum = .nanoseconds(nanoseconds.load(ordering: .relaxed))
        return counts
    }
}
