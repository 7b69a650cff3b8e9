import CommitLog
import Queue

/// Why a shard cannot be opened, or the cluster not be joined.
package struct ShardProblem: Error, CustomStringConvertible {
    package enum Kind: Sendable {
        /// There is no such shard any more.
        case gone
        /// Another gateway has it.
        case taken
        /// It may pass by itself.
        case passing
        /// The disk of this gateway, or the engine, has no room for it.
        case noRoom
        /// An operator has to do something.
        case lasting
    }

    package let kind: Kind
    package let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    init(_ error: CommitLogError) {
        let kind: Kind =
            switch error.kind {
            case .missing: .gone
            case .fenced: .taken
            case .unreachable: .passing
            case .noRoom: .noRoom
            case .refused, .damaged, .newer: .lasting
            }
        self.init(kind, error.description)
    }

    init(_ error: QueueError) {
        let kind: Kind =
            switch error.kind {
            case .fenced: .taken
            case .unreachable: .passing
            case .diskFull: .noRoom
            default: .lasting
            }
        self.init(kind, error.description)
    }
}
