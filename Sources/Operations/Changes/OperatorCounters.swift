package import HTTP
import Queue
package import Synchronization
import System

/// Counts the requests and changes of operators.
package final class OperatorCounters: Sendable {
    /// Answers of the admin listener.
    package let answers: AnswerCounters
    /// Open sessions of the console.
    package let sessions = Atomic<Int>(0)
    private let changes = Locked<[String: Int]>([:])

    /// `labels` are the labels of admin routes in metrics.
    package init(labels: [String]) {
        answers = AnswerCounters(labels: labels)
    }

    /// Uses the names of the audit log, whose number is bounded as the program writes them.
    func countChange(_ entry: AuditEntry) {
        let action = String(entry.action.map { $0 == " " ? "_" : $0 })
        changes.withLock { $0[action, default: 0] += 1 }
    }

    package var changed: [(action: String, count: Int)] {
        let actions = Dictionary(
            Self.actions.map { ($0, 0) },
            uniquingKeysWith: { first, _ in first }
        )
        return changes.withLock { $0.merging(actions) { count, _ in count } }
            .sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Shown from the start, so that the first increase is visible.
    private static let actions = [
        "rotate", "forget", "patch", "reset", "pause", "resume", "flush", "drain", "end_drain",
        "edit", "replay", "purge", "log_in", "log_out",
    ]
}
