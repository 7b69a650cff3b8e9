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

        init(of logs: DecodedLogs, bodyBytes: Int) {
            self.logs = logs.count
            self.bodyBytes = bodyBytes
            isCorrected = logs.corrected > 0
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

    private let logs = RouteCounter()
    private let track = RouteCounter()
    private let corrected = Atomic<Int>(0)
    private let unusableClocks = Atomic<Int>(0)
    private let refusals = Locked<[RefusalKind: Int]>([:])
    /// Of device listeners, by `DeviceRoute.labels`.
    package let answers = AnswerCounters(labels: DeviceRoute.labels)

    package init() {}

    func countAccepted(_ route: DeviceRoute, _ figures: Figures, since start: Moment) {
        guard let counter = counter(route) else { return }
        counter.requests.add(1, ordering: .relaxed)
        counter.logs.add(figures.logs, ordering: .relaxed)
        counter.bodyBytes.add(figures.bodyBytes, ordering: .relaxed)
        if figures.isCorrected { corrected.add(1, ordering: .relaxed) }
        counter.acknowledgements.count(since: start)
    }

    func countRepeated(_ route: DeviceRoute, since start: Moment) {
        guard let counter = counter(route) else { return }
        counter.repeated.add(1, ordering: .relaxed)
        counter.acknowledgements.count(since: start)
    }

    func countUnusableClock() {
        unusableClocks.add(1, ordering: .relaxed)
    }

    private func counter(_ route: DeviceRoute) -> RouteCounter? {
        switch route {
        case .logs: logs
        case .track: track
        case .serverTime, .health, .server, .unknown: nil
        }
    }

    /// Routes, statuses and codes are few, whatever clients send.
    func countRefused(_ route: String, _ refusal: Refusal) {
        let kind = RefusalKind(route: route, status: refusal.status, code: refusal.code)
        refusals.withLock { $0[kind, default: 0] += 1 }
    }

    package var accepted: [(route: String, counts: Accepted)] {
        [("logs", logs.counts), ("track", track.counts)]
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
