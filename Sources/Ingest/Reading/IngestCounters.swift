package import Configuration
package import HTTP
import Logs
import Synchronization
package import System

/// Counts the requests of devices and their outcomes, over all loops.
package final class IngestCounters: Sendable {
    package struct Accepted: Sendable, Equatable {
        package var requests = 0
        package var logs = 0
        /// After inflating.
        package var bodyBytes = 0
        /// Repetitions of stored requests, answered with the first receipt.
        package var repeated = 0
        /// From a complete request to its 2xx.
        package var acknowledgements = DurationCounter.Counts()
    }

    /// Damaged input that was accepted.
    package struct Damage: Sendable, Equatable {
        /// Requests whose JSON became readable only after parts of it were replaced.
        package var repairedRequests = 0
        /// Logs with bytes that are not UTF-8.
        package var repairedLogs = 0
        /// Texts that were unreadable as logs.
        package var unreadableLogs = 0
    }

    /// Effects of devices' own clocks.
    package struct Clocks: Sendable, Equatable {
        /// Requests whose times were corrected.
        package var corrected = 0
        /// Requests with an invalid client time.
        package var unusable = 0
    }

    /// What filters and routes did to logs of accepted requests.
    package struct Routed: Sendable, Equatable {
        /// Dropped or sampled out by a filter.
        package var filtered = 0
        /// Dropped on purpose by a route or by `unrouted: drop`.
        package var dropped = 0
        /// Taken by no route.
        package var unrouted = 0
    }

    package struct RefusalKind: Hashable, Sendable {
        package let route: String
        package let status: Int
        package let code: String
    }

    /// The part of one stored request.
    struct Figures: Sendable {
        let logs: Int
        let bodyBytes: Int
        let isCorrected: Bool
        let isRepaired: Bool
        let repairedLogs: Int
        let unreadableLogs: Int

        init(of groups: [LogGroup], bodyBytes: Int, isRepaired: Bool) {
            logs = groups.reduce(0) { $0 + $1.logs.count }
            self.bodyBytes = bodyBytes
            isCorrected = groups.contains { $0.logs.corrected > 0 }
            self.isRepaired = isRepaired
            repairedLogs = groups.reduce(0) { $0 + $1.logs.repaired }
            unreadableLogs = groups.reduce(0) { $0 + $1.logs.unreadable }
        }
    }

    /// Changed with every request on every loop, so without a lock.
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

    /// Indexed by `DeviceLabel`.
    private let routes = DeviceLabel.allCases.map { _ in RouteCounter() }
    private let corrected = Atomic<Int>(0)
    private let unusableClocks = Atomic<Int>(0)
    private let repairedRequests = Atomic<Int>(0)
    private let repairedLogs = Atomic<Int>(0)
    private let unreadableLogs = Atomic<Int>(0)
    private let claims = Atomic<Int>(0)
    private let filtered = Atomic<Int>(0)
    private let dropped = Atomic<Int>(0)
    private let unrouted = Atomic<Int>(0)
    private let refusals = Locked<[RefusalKind: Int]>([:])
    /// Answers of device listeners, indexed by `DeviceLabel`.
    package let answers = AnswerCounters(labels: DeviceLabel.names)

    package init() {}

    func countAccepted(_ label: DeviceLabel, _ figures: Figures, since start: Moment) {
        let counter = routes[label.rawValue]
        counter.requests.add(1, ordering: .relaxed)
        counter.logs.add(figures.logs, ordering: .relaxed)
        counter.bodyBytes.add(figures.bodyBytes, ordering: .relaxed)
        if figures.isCorrected { corrected.add(1, ordering: .relaxed) }
        if figures.isRepaired { repairedRequests.add(1, ordering: .relaxed) }
        if figures.repairedLogs > 0 { repairedLogs.add(figures.repairedLogs, ordering: .relaxed) }
        if figures.unreadableLogs > 0 {
            unreadableLogs.add(figures.unreadableLogs, ordering: .relaxed)
        }
        counter.acknowledgements.count(since: start)
    }

    func countRepeated(_ label: DeviceLabel, since start: Moment) {
        let counter = routes[label.rawValue]
        counter.repeated.add(1, ordering: .relaxed)
        counter.acknowledgements.count(since: start)
    }

    func countRouted(_ counts: DispatchedLogs.Counts) {
        if counts.filtered > 0 { filtered.add(counts.filtered, ordering: .relaxed) }
        if counts.dropped > 0 { dropped.add(counts.dropped, ordering: .relaxed) }
        if counts.unrouted > 0 { unrouted.add(counts.unrouted, ordering: .relaxed) }
    }

    package var routed: Routed {
        Routed(
            filtered: filtered.load(ordering: .relaxed),
            dropped: dropped.load(ordering: .relaxed),
            unrouted: unrouted.load(ordering: .relaxed)
        )
    }

    func countUnusableClock() {
        unusableClocks.add(1, ordering: .relaxed)
    }

    func countClaimsRemoved(_ count: Int) {
        if count > 0 { claims.add(count, ordering: .relaxed) }
    }

    /// Fields and tags of devices that were removed because they have the name of a stamp.
    package var claimsRemoved: Int { claims.load(ordering: .relaxed) }

    /// The number of routes, statuses and codes is small, whatever clients send.
    func countRefused(_ label: DeviceLabel, _ refusal: Refusal, as status: Int) {
        let kind = RefusalKind(route: label.name, status: status, code: refusal.code)
        refusals.withLock { $0[kind, default: 0] += 1 }
    }

    package var accepted: [(route: String, counts: Accepted)] {
        DeviceLabel.ofLogs.map { ($0.name, routes[$0.rawValue].counts) }
    }

    package var damage: Damage {
        Damage(
            repairedRequests: repairedRequests.load(ordering: .relaxed),
            repairedLogs: repairedLogs.load(ordering: .relaxed),
            unreadableLogs: unreadableLogs.load(ordering: .relaxed)
        )
    }

    /// Leaves out the routes of dialects that are switched off, unless they have counts.
    package func accepted(
        showing dialects: AcceptedDialects
    ) -> [(route: String, counts: Accepted)] {
        zip(DeviceLabel.ofLogs, accepted).filter { label, accepted in
            dialects.covers(label) || accepted.counts.requests > 0
                || accepted.counts.repeated > 0
        }.map(\.1)
    }

    /// Leaves out the same routes.
    package func answers(showing dialects: AcceptedDialects) -> [AnswerCounters.Count] {
        let hidden = Set(DeviceLabel.allCases.filter { !dialects.covers($0) }.map(\.name))
        return answers.all.filter { $0.answers > 0 || !hidden.contains($0.route) }
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
