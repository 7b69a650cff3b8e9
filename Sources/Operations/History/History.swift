import Ingest
import JSON
import Queue
package import System

/// The last two days of a few figures, in memory: every second for ten minutes, every ten seconds
/// for three hours, every minute for 48 hours. Together less than half a mebibyte.
package final class History: Sendable {
    package enum Window: String, CaseIterable, Sendable {
        case minutes = "10m"
        case hours = "3h"
        case days = "48h"

        package var step: Duration {
            switch self {
            case .minutes: .seconds(1)
            case .hours: .seconds(10)
            case .days: .seconds(60)
            }
        }

        /// One more than it has steps, because a rate lies between two samples.
        fileprivate var samples: Int {
            switch self {
            case .minutes: 601
            case .hours: 1081
            case .days: 2881
            }
        }

        /// How many seconds lie between two samples.
        fileprivate var seconds: Int { Int(step.milliseconds / 1000) }
    }

    /// What a chart shows.
    package struct View: Sendable {
        package let window: Window
        package let end: WallTime
        /// Oldest first. A rate is nil where the count began anew.
        package let series: [(series: Series, values: [Double?])]
    }

    private struct State {
        /// Oldest first.
        var samples: [Window: [Sample]] = [:]
        var taken = 0
        var end = WallTime.now
        /// When the next sample is due.
        var due = Moment.now
    }

    private let state = Locked(State())
    private let measure: @Sendable () -> GatewayReport
    private let worker: SerialWorker

    /// `measure` is called once a second, on a thread of the history's own.
    package init(_ measure: @escaping @Sendable () -> GatewayReport) throws(SystemError) {
        self.measure = measure
        worker = try SerialWorker("history", waitingMax: 1)
    }

    package func start() throws(SystemError) {
        try worker.start(every: Window.minutes.step) { [self] in
            let now = Moment.now
            // A late sample stands for those that were missed, so that a window spans its time.
            let missing = state.withLock { state in
                let steps = now < state.due ? 0 : 1 + Int((now - state.due) / Window.minutes.step)
                state.due = state.due + Window.minutes.step * steps
                return min(steps, Window.minutes.samples)
            }
            guard missing > 0 else { return }
            let sample = Sample(measure())
            for _ in 0..<missing { append(sample, .now) }
        }
    }

    package func stop() { worker.stop() }

    func append(_ sample: Sample, _ time: WallTime) {
        state.withLock { state in
            for window in Window.allCases where state.taken % window.seconds == 0 {
                state.samples[window, default: []].append(sample)
                if state.samples[window]?.count ?? 0 > window.samples {
                    state.samples[window]?.removeFirst()
                }
            }
            state.taken += 1
            state.end = time
        }
    }

    package func view(_ window: Window) -> View {
        let (samples, end) = state.withLock { ($0.samples[window] ?? [], $0.end) }
        let series = Series.allCases.map { series in
            let values = samples.map { $0[series] }
            guard series.isCount else { return (series, values.dropFirst().map(Optional.some)) }
            let rates = zip(values, values.dropFirst()).map { earlier, later in
                later >= earlier ? (later - earlier) / Double(window.seconds) : nil
            }
            return (series, rates)
        }
        return View(window: window, end: end, series: series)
    }
}

extension Sample {
    init(_ report: GatewayReport) {
        self.init()
        let ledger = report.queue.ledger
        self[.accepted] = Double(report.requests.accepted.reduce(0) { $0 + $1.counts[.logs] })
        self[.delivered] = Double(ledger.delivered)
        self[.refused] = Double(report.requests.refused.reduce(0) { $0 + $1.count })
        self[.queuedLogs] = Double(ledger.queued)
        self[.queuedBytes] = Double(report.queue.bytes)
        self[.oldestSeconds] = report.queue.oldest.map { max(0, (report.now - $0).inSeconds) } ?? 0
        self[.deadLetters] = Double(ledger.dead)
        self[.memoryBytes] = Double(ProcessFigures.now.residentBytes)
    }
}

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
