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
    package private(set) var counts: [Int]
    package private(set) var sum: Duration = .zero

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

    /// The upper bound in seconds of the bucket that holds the given share (0.5, 0.99) of the
    /// requests; nil when there were none, infinite beyond the last bound.
    package func bound(ofShare share: Double) -> Double? {
        let wanted = (Double(count) * share).rounded(.up)
        guard wanted > 0 else { return nil }
        var seen = 0.0
        for (index, count) in counts.enumerated() {
            seen += Double(count)
            if seen >= wanted {
                return index < bounds.count ? bounds[index] : .infinity
            }
        }
        return .infinity
    }
}
