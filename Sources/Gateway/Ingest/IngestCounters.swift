import Synchronization
import System

/// What devices sent and what became of it, over all loops.
package final class IngestCounters: Sendable {
    package struct Accepted: Sendable, Equatable {
        package var requests = 0
        package var logs = 0
        /// After inflating.
        package var bodyBytes = 0
    }

    package struct RefusalKind: Hashable, Sendable {
        package let route: String
        package let status: Int
        package let code: String
    }

    /// Counted with every request on every loop, so without a lock.
    private final class RouteCounter: Sendable {
        let requests = Atomic<Int>(0)
        let logs = Atomic<Int>(0)
        let bodyBytes = Atomic<Int>(0)

        var counts: Accepted {
            Accepted(
                requests: requests.load(ordering: .relaxed),
                logs: logs.load(ordering: .relaxed),
                bodyBytes: bodyBytes.load(ordering: .relaxed)
            )
        }
    }

    private let logs = RouteCounter()
    private let track = RouteCounter()
    private let refusals = Locked<[RefusalKind: Int]>([:])

    package init() {}

    func countAccepted(_ route: DeviceRoute, logs count: Int, bodyBytes: Int) {
        let counter: RouteCounter
        switch route {
        case .logs: counter = logs
        case .track: counter = track
        case .serverTime, .health, .server, .unknown: return
        }
        counter.requests.add(1, ordering: .relaxed)
        counter.logs.add(count, ordering: .relaxed)
        counter.bodyBytes.add(bodyBytes, ordering: .relaxed)
    }

    /// Routes, statuses and codes are few, whatever clients send.
    func countRefused(_ route: String, _ refusal: Refusal) {
        let kind = RefusalKind(route: route, status: refusal.status, code: refusal.code)
        refusals.withLock { $0[kind, default: 0] += 1 }
    }

    package var accepted: [(route: String, counts: Accepted)] {
        [("logs", logs.counts), ("track", track.counts)]
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
