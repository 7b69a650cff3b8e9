import System

/// Gathers the answers of several shards, and gives one for all.
final class AnswerSum<Sum: Sendable>: Sendable {
    private let state: Locked<(sum: Sum, left: Int)>
    private let whenDone: @Sendable (Sum) -> Void

    init(_ empty: Sum, waitingFor count: Int, _ whenDone: @escaping @Sendable (Sum) -> Void) {
        state = Locked((empty, count))
        self.whenDone = whenDone
        if count == 0 { whenDone(empty) }
    }

    func add(_ body: (inout Sum) -> Void) {
        let sum = state.withLock { state -> Sum? in
            body(&state.sum)
            state.left -= 1
            return state.left == 0 ? state.sum : nil
        }
        if let sum { whenDone(sum) }
    }
}
