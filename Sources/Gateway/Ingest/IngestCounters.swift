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

    private struct Counts {
        var accepted: [String: Accepted] = ["logs": Accepted(), "track": Accepted()]
        var refused: [RefusalKind: Int] = [:]
    }

    private let counts = Locked(Counts())

    package init() {}

    func countAccepted(_ route: DeviceRoute, logs: Int, bodyBytes: Int) {
        let name = route.name
        counts.withLock { counts in
            counts.accepted[name, default: Accepted()].requests += 1
            counts.accepted[name, default: Accepted()].logs += logs
            counts.accepted[name, default: Accepted()].bodyBytes += bodyBytes
        }
    }

    /// Routes, statuses and codes are few, whatever clients send.
    func countRefused(_ route: String, _ refusal: Refusal) {
        let kind = RefusalKind(route: route, status: refusal.status, code: refusal.code)
        counts.withLock { $0.refused[kind, default: 0] += 1 }
    }

    package var accepted: [(route: String, counts: Accepted)] {
        counts.withLock { $0.accepted.map { ($0.key, $0.value) } }.sorted { $0.route < $1.route }
    }

    package var refused: [(kind: RefusalKind, count: Int)] {
        counts.withLock { $0.refused.map { ($0.key, $0.value) } }
            .sorted {
                ($0.kind.route, $0.kind.status, $0.kind.code) < (
                    $1.kind.route, $1.kind.status, $1.kind.code
                )
            }
    }
}
