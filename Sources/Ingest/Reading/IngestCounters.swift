package import Configuration
package import HTTP
import Logs
package import System

/// What requests of one route brought.
package enum RouteCounter: Int, CounterKey {
    case requests, logs
    /// After inflating.
    case bodyBytes
    /// Repetitions of stored requests, answered with the first receipt.
    case repeated
}

/// What happened to the content of requests, whatever their route.
package enum ContentCounter: Int, CounterKey {
    /// Requests whose times were corrected.
    case clockCorrected
    /// Requests with an invalid client time.
    case clockUnusable
    /// Requests whose JSON became readable only after parts of it were replaced.
    case repairedRequests
    /// Logs with bytes that are not UTF-8.
    case repairedLogs
    /// Texts that were unreadable as logs.
    case unreadableLogs
    /// Fields and tags of devices that were removed because they have the name of a stamp.
    case claimsRemoved
    /// Logs dropped or sampled out by a filter.
    case filtered
    /// Logs dropped on purpose by a route or by `unrouted: drop`.
    case dropped
    /// Logs taken by no route.
    case unrouted
}

/// Counts the requests of devices and their outcomes, over all loops.
package final class IngestCounters: Sendable {
    /// The logs that a route took.
    package struct Accepted: Sendable {
        package let route: String
        package let counts: Counts<RouteCounter>
        /// From a complete request to its 2xx.
        package let acknowledgements: LatencyHistogram
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
            var (logs, corrected, repaired, unreadable) = (0, 0, 0, 0)
            let span = groups.span
            for index in span.indices {
                logs += span[index].tracked.logs.count
                corrected += span[index].tracked.logs.corrected
                repaired += span[index].tracked.logs.repaired
                unreadable += span[index].tracked.logs.unreadable
            }
            self.logs = logs
            self.bodyBytes = bodyBytes
            isCorrected = corrected > 0
            self.isRepaired = isRepaired
            repairedLogs = repaired
            unreadableLogs = unreadable
        }
    }

    /// Changed with every request on every loop, so without a lock. Indexed by `DeviceLabel`.
    private let routes = DeviceLabel.allCases.map { _ in CounterSet<RouteCounter>() }
    private let acknowledgements = DeviceLabel.allCases.map { _ in LatencyCounter() }
    private let contents = CounterSet<ContentCounter>()
    private let refusals = Locked<[RefusalKind: Int]>([:])
    /// Answers of device listeners, indexed by `DeviceLabel`.
    package let answers = AnswerCounters(labels: DeviceLabel.names)

    package init() {}

    func countAccepted(_ label: DeviceLabel, _ figures: Figures, since start: Moment) {
        let route = routes[label.rawValue]
        route.count(.requests)
        route.count(.logs, figures.logs)
        route.count(.bodyBytes, figures.bodyBytes)
        if figures.isCorrected { count(.clockCorrected) }
        if figures.isRepaired { count(.repairedRequests) }
        count(.repairedLogs, figures.repairedLogs)
        count(.unreadableLogs, figures.unreadableLogs)
        acknowledgements[label.rawValue].count(since: start)
    }

    func countRepeated(_ label: DeviceLabel, since start: Moment) {
        routes[label.rawValue].count(.repeated)
        acknowledgements[label.rawValue].count(since: start)
    }

    func countRouted(_ counts: DispatchedLogs.Counts) {
        count(.filtered, counts.filtered)
        count(.dropped, counts.dropped)
        count(.unrouted, counts.unrouted)
    }

    /// Most requests have nothing to count here, and leave the cores their copies of the memory.
    func count(_ key: ContentCounter, _ more: Int = 1) {
        if more > 0 { contents.count(key, more) }
    }

    package var content: Counts<ContentCounter> { contents.counts }

    /// The number of routes, statuses and codes is small, whatever clients send.
    func countRefused(_ label: DeviceLabel, _ refusal: Refusal, as status: Int) {
        let kind = RefusalKind(route: label.name, status: status, code: refusal.code)
        refusals.withLock { $0[kind, default: 0] += 1 }
    }

    package var accepted: [Accepted] {
        DeviceLabel.ofLogs.map { label in
            Accepted(
                route: label.name,
                counts: routes[label.rawValue].counts,
                acknowledgements: acknowledgements[label.rawValue].histogram
            )
        }
    }

    /// Leaves out the routes of dialects that are switched off, unless they have counts.
    package func accepted(showing dialects: AcceptedDialects) -> [Accepted] {
        zip(DeviceLabel.ofLogs, accepted).filter { label, accepted in
            dialects.covers(label) || accepted.counts != Counts()
        }.map(\.1)
    }

    /// Leaves out the same routes.
    package func answers(showing dialects: AcceptedDialects) -> [AnswerCounters.Count] {
        let hidden = Set(DeviceLabel.allCases.filter { !dialects.covers($0) }.map(\.name))
        return answers.all.filter { $0.answers > 0 || !hidden.contains($0.route) }
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
