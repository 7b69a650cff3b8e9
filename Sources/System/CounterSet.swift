import Synchronization

/// Names the counters of a set. Keys that are counted for each log or request have raw values of
/// type Int, which number the cases from 0; others may have names.
@usableFromInline package protocol CounterKey: CaseIterable, Hashable, Sendable {
    var index: Int { get }
}

extension CounterKey where Self: RawRepresentable, RawValue == Int {
    @inlinable package var index: Int { rawValue }
}

extension CounterKey where Self: RawRepresentable, RawValue == String, AllCases == [Self] {
    @inlinable package var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Counters by key, which any thread reads. What is called for each log or request can be inlined:
/// generic code of another module would look up the key's type each time.
@usableFromInline package struct CounterSet<Key: CounterKey>: Sendable {
    @usableFromInline let list = CounterList(count: Key.allCases.count)

    package init() {}

    /// Counts from any thread.
    @inlinable package func count(_ key: Key, _ more: Int = 1) {
        list.add(more, at: key.index)
    }

    /// Counts without a locked instruction. No other thread may ever count under this key.
    @inlinable package func countAlone(_ key: Key, _ more: Int = 1) {
        list.addAlone(more, at: key.index)
    }

    /// The counts so far. What is counted meanwhile may be in one of them and not yet in another.
    package var counts: Counts<Key> {
        var counts = Counts<Key>()
        for index in 0..<list.count { counts.values[index] = list[index] }
        return counts
    }
}

/// A number for each key: the sum of sets, or what a thread counts before it adds it to one.
@usableFromInline package struct Counts<Key: CounterKey>: Sendable, Equatable {
    @usableFromInline var values = [Int](repeating: 0, count: Key.allCases.count)

    package init() {}

    @inlinable package subscript(key: Key) -> Int {
        get { values[key.index] }
        set { values[key.index] = newValue }
    }

    package static func += (sum: inout Counts, more: Counts) {
        for (index, count) in more.values.enumerated() { sum.values[index] += count }
    }

    /// Adds the counts to the set, and begins again at 0 in the same memory.
    package mutating func move(to set: CounterSet<Key>) {
        for index in values.indices where values[index] > 0 {
            set.list.add(values[index], at: index)
            values[index] = 0
        }
    }
}

extension Counts: ExpressibleByDictionaryLiteral {
    /// Keys that are not named have 0.
    @usableFromInline package init(dictionaryLiteral counts: (Key, Int)...) {
        for (key, count) in counts { self[key] = count }
    }
}

extension Counts where Key: RawRepresentable, Key.RawValue == String {
    package var named: [(String, Int)] { Key.allCases.map { ($0.rawValue, self[$0]) } }
}

/// A fixed number of counters that any thread adds to, in one block of memory. With an array of
/// objects, retain and release would cost three times as much as the addition.
@usableFromInline package final class CounterList: Sendable {
    package let count: Int
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

    @usableFromInline package func add(_ more: Int, at index: Int) {
        precondition(index >= 0 && index < count)
        values[index].add(more, ordering: .relaxed)
    }

    /// Adds as the only thread that ever does.
    @usableFromInline func addAlone(_ more: Int, at index: Int) {
        precondition(index >= 0 && index < count)
        values[index].store(values[index].load(ordering: .relaxed) &+ more, ordering: .relaxed)
    }
}

/// How long requests took, counted in the buckets that Prometheus shows.
package struct LatencyHistogram: Sendable, Equatable {
    package static let ofRequests: [Double] = [
        0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
    ]
    /// From a log's acceptance on: an outage of a night is told from one of a minute.
    package static let ofWaits: [Double] = [
        0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 28_800, 86_400,
    ]

    /// Upper bounds in seconds; one bucket more holds what took longer.
    package let bounds: [Double]
    /// Requests in each bucket, not summed up.
    package fileprivate(set) var counts: [Int]
    package fileprivate(set) var sum: Duration = .zero

    package init(bounds: [Double] = ofRequests) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    package var count: Int { counts.reduce(0, +) }

    package mutating func record(_ latency: Duration) {
        let seconds = latency / .seconds(1)
        counts[bounds.firstIndex { seconds <= $0 } ?? bounds.count] += 1
        sum += latency
    }
}

/// A histogram of short times that any thread counts in, without a lock.
package final class LatencyCounter: Sendable {
    private static let bounds: [Double] = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]
    private static let limits = bounds.map { Int64($0 * 1e9) }

    private let buckets = CounterList(count: bounds.count + 1)
    private let nanoseconds = Atomic<Int64>(0)

    package init() {}

    package func count(since start: Moment) {
        count(nanoseconds: Moment.now.nanoseconds - start.nanoseconds)
    }

    func count(nanoseconds taken: Int64) {
        var bucket = 0
        while bucket < Self.limits.count, taken > Self.limits[bucket] { bucket += 1 }
        buckets.add(1, at: bucket)
        nanoseconds.add(taken, ordering: .relaxed)
    }

    /// The counts so far. A count in progress may be in one part and not yet in another.
    package var histogram: LatencyHistogram {
        var histogram = LatencyHistogram(bounds: Self.bounds)
        for bucket in histogram.counts.indices { histogram.counts[bucket] = buckets[bucket] }
        histogram.sum = .nanoseconds(nanoseconds.load(ordering: .relaxed))
        return histogram
    }
}
