import CommitLog
import Queue

/// Why a shard cannot be opened or moved, or the cluster not be joined: the kinds of the engine's
/// errors say what to do about errors of the local queue, too.
extension CommitLogError {
    var isLasting: Bool { [.refused, .damaged, .newer].contains(kind) }

    init(_ error: QueueError) {
        let kind: Kind =
            switch error.kind {
            case .fenced: .fenced
            case .unreachable: .unreachable
            case .diskFull, .commitLogFull: .noRoom
            default: .refused
            }
        self.init(kind, error.description)
    }

    /// Converts the queue's errors, all to one kind if that is given.
    static func onQueue<Value>(
        _ kind: Kind? = nil,
        _ body: () throws(QueueError) -> Value
    ) throws(CommitLogError) -> Value {
        do throws(QueueError) {
            return try body()
        } catch {
            throw kind.map { CommitLogError($0, error.description) } ?? CommitLogError(error)
        }
    }
}
