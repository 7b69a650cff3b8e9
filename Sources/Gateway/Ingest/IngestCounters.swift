import Logs
import Synchronization
import System

/// What devices sent and what became of it, over all loops.
package final class IngestCounters: Sendable {
    package struct Accepted: Sendable, Equatable {
        package var requests = 0
        package var logs = 0
        /// After inflating.
        package var bodyBytes = 0
        /// Requests that were stored before, and answered again.
        package var repeated = 0
        /// From a complete request to its 2xx.
        package var acknowledgements = DurationCounter.Counts()
    }

    /// What devices' own clocks gave to do.
    package struct Clocks: Sendable, Equatable {
        /// Requests of which times were corrected.
        package var corrected = 0
        /// Requests whose device told a time that cannot be one.
        package var unusable = 0
    }

    package struct RefusalKind: Hashable, Sendable {
        package let route: String
        package let status: Int
        package let code: String
    }

    /// What one stored request adds.
    struct Figures: Sendable {
        let logs: Int
        let bodyBytes: Int
        let isCorrected: Bool

        init(of parts: [TakenPart], bodyBytes: Int) {
            logs = parts.reduce(0) { $0 + $1.logs.count }
            self.bodyBytes = bodyBytes
            isCorrected = parts.contains { $0.logs.corrected > 0 }
        }
    }

    /// Counted with every request on every loop, so without a lock.
    private final class RouteCounter: Sendable {
        let requests = Atomic<Int>(0)
        let logs = Atomic<Int>(0)
        let bodyBytes = Atomic<Int>(0)
        let repeated = Atomic<Int>(0)
        let acknowledgements = DurationCounter()

        var counts: Accepted {
            Accepted(
                requests: requests.load(ordering: .relaxed),
                logs: logs.load(ordering: .relaxed),
                bodyBytes: bodyBytes.load(ordering: .relaxed),
                repeated: repeated.load(ordering: .relaxed),
                acknowledgements: acknowledgements.counts
            )
        }
    }

    /// By `DeviceLabel`.
    private let routes = DeviceLabel.allCases.map { _ in RouteCounter() }
    private let corrected = Atomic<Int>(0)
    private let unusableClocks = Atomic<Int>(0)
    private let refusals = Locked<[RefusalKind: Int]>([:])
    /// Of device listeners, by `DeviceLabel`.
    package let answers = AnswerCounters(labels: DeviceLabel.names)

    package init() {}

    func countAccepted(_ label: DeviceLabel, _ figures: Figures, since start: Moment) {
        let counter = routes[label.rawValue]
        counter.requests.add(1, ordering: .relaxed)
        counter.logs.add(figures.logs, ordering: .relaxed)
        counter.bodyBytes.add(figures.bodyBytes, ordering: .relaxed)
        if figures.isCorrected { corrected.add(1, ordering: .relaxed) }
        counter.acknowledgements.count(since: start)
    }

    func countRepeated(_ label: DeviceLabel, since start: Moment) {
        let counter = routes[label.rawValue]
        counter.repeated.add(1, ordering: .relaxed)
        counter.acknowledgements.count(since: start)
    }

    func countUnusableClock() {
        unusableClocks.add(1, ordering: .relaxed)
    }

    /// Routes, statuses and codes are few, whatever clients send.
    func countRefused(_ label: DeviceLabel, _ refusal: Refusal, as status: Int) {
        let kind = RefusalKind(route: label.name, status: status, code: refusal.code)
        refusals.withLock { $0[kind, default: 0] += 1 }
    }

    package var accepted: [(route: String, counts: Accepted)] {
        DeviceLabel.ofLogs.map { ($0.name, routes[$0.rawValue].counts) }
    }

    package var clocks: Clocks {
        Clocks(
            corrected: corrected.load(ordering: .relaxed),
            unusable: unusableClocks.load(ordering: .relaxed)
        )
    }

    package var refused: [(kind: RefusalKind, count: Int)] {
        refusals.withLock { $0.map { ($0.key, $0.value) } }
            .sorted {
                ($0.kind.route, $0.kind.status, $0.kind.code) < (
                    $1.kind.route, $1.kind.status, $1.kind.code
                )
            }
    }
}
