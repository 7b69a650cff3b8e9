import Synchronization

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
