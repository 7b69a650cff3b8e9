package import HTTP
import Queue
import System

/// What operators asked for, and what they changed.
package final class OperatorCounters: Sendable {
    /// Answers of the admin listener.
    package let answers: AnswerCounters
    private let changes = Locked<[String: Int]>([:])

    /// `labels` are the admin routes as metrics name them.
    package init(labels: [String]) {
        answers = AnswerCounters(labels: labels)
    }

    /// As the audit log calls them. Only what this program writes there: there are no others.
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

    /// Shown before the first one, so that its increase can be seen.
    private static let actions = [
        "rotate", "forget", "patch", "reset", "pause", "resume", "flush", "drain", "end_drain",
        "edit", "replay", "purge",
    ]
}
