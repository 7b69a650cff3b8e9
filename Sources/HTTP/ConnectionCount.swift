import Net
import Synchronization
import System

/// Counts connections, over all loops, in total and by where they come from. One may be within another of the same
/// limits, which counts for several servers together; then it never has more than that, and that decides.
final class ConnectionCount: Sendable {
    enum Verdict {
        case welcome
        case full
        case tooManyFromThere
    }

    private let limit: Int
    private let limitPerNeighbourhood: Int
    private let common: ConnectionCount?
    private let state = Locked(State())
    private let total = Atomic<Int>(0)

    private struct State {
        var total = 0
        var neighbourhoods: [Neighbourhood: Int] = [:]
    }

    init(limit: Int, perNeighbourhood: Int, within common: ConnectionCount? = nil) {
        self.limit = limit
        self.common = common
        self.limitPerNeighbourhood = perNeighbourhood
    }

    var count: Int { total.load(ordering: .relaxed) }

    /// Nil is one who stands for many, and only counts in total.
    func enter(from neighbourhood: Neighbourhood?) -> Verdict {
        if let verdict = common?.enter(from: neighbourhood), verdict != .welcome { return verdict }
        return state.withLock { state in
            guard state.total < limit else { return .full }
            if let neighbourhood {
                let neighbours = state.neighbourhoods[neighbourhood, default: 0]
                guard neighbours < limitPerNeighbourhood else { return .tooManyFromThere }
                state.neighbourhoods[neighbourhood] = neighbours + 1
            }
            state.total += 1
            total.store(state.total, ordering: .relaxed)
            return .welcome
        }
    }

    /// Counts one who has entered from nowhere where it comes from. False when there are as many as may be: then it
    /// goes on counting only in total.
    func settle(at neighbourhood: Neighbourhood) -> Bool {
        guard common?.settle(at: neighbourhood) ?? true else { return false }
        return state.withLock { state in
            let neighbours = state.neighbourhoods[neighbourhood, default: 0]
            guard neighbours < limitPerNeighbourhood else { return false }
            state.neighbourhoods[neighbourhood] = neighbours + 1
            return true
        }
    }

    func leave(from neighbourhood: Neighbourhood?) {
        state.withLock { state in
            if let neighbourhood {
                let neighbours = state.neighbourhoods[neighbourhood, default: 1]
                // An address that has gone leaves nothing behind, or a scan would grow the table for good.
                state.neighbourhoods[neighbourhood] = neighbours > 1 ? neighbours - 1 : nil
            }
            state.total -= 1
            total.store(state.total, ordering: .relaxed)
        }
        // In this order it has room for whoever the common one lets in.
        common?.leave(from: neighbourhood)
    }
}
