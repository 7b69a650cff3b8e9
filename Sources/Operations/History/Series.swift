/// What the gateway measures for its own charts.
package enum Series: String, CaseIterable, Sendable {
    case accepted, delivered, refused
    case queuedLogs = "queued_logs"
    case queuedBytes = "queued_bytes"
    case oldestSeconds = "oldest_seconds"
    case deadLetters = "dead_letters"
    case memoryBytes = "memory_bytes"

    /// True for a count since the start, which a chart shows as a rate.
    package var isCount: Bool {
        switch self {
        case .accepted, .delivered, .refused: true
        default: false
        }
    }

    package var unit: String {
        switch self {
        case .accepted, .delivered: "logs/s"
        case .refused: "requests/s"
        case .queuedLogs: "logs"
        case .queuedBytes, .memoryBytes: "bytes"
        case .oldestSeconds: "seconds"
        case .deadLetters: "dead letters"
        }
    }
}

/// All series at one moment, in the order of `Series.allCases`.
struct Sample: Sendable, Equatable {
    var values: [Double]

    subscript(series: Series) -> Double {
        get { values[Series.allCases.firstIndex(of: series) ?? 0] }
        set { values[Series.allCases.firstIndex(of: series) ?? 0] = newValue }
    }

    init() { values = Array(repeating: 0, count: Series.allCases.count) }
}

/// The samples of a window, oldest first, at equal steps.
struct SampleRing: Sendable {
    private let capacity: Int
    private var samples: [Sample] = []
    /// The index of the oldest sample, once the ring is full.
    private var start = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    mutating func append(_ sample: Sample) {
        if samples.count < capacity {
            samples.append(sample)
        } else {
            samples[start] = sample
            start = (start + 1) % capacity
        }
    }

    var oldestFirst: [Sample] { Array(samples[start...] + samples[..<start]) }
}
