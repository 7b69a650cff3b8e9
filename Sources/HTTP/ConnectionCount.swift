import Net
import Synchronization
import System

/// Counts connections over all loops, in total and by address. A count may be part of a common one
/// with the same limits, which covers several servers. It then never has more than the common one,
/// whose verdict decides.
final class ConnectionCount: Sendable {
    enum Verdict {
        case admitted
        case full
        case addressFull
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

    /// A nil neighbourhood is a proxy, which stands for many clients and counts only in total.
    func add(from neighbourhood: Neighbourhood?) -> Verdict {
        if let verdict = common?.add(from: neighbourhood), verdict != .admitted { return verdict }
        return state.withLock { state in
            guard state.total < limit else { return .full }
            if let neighbourhood {
                let neighbours = state.neighbourhoods[neighbourhood, default: 0]
                guard neighbours < limitPerNeighbourhood else { return .addressFull }
                state.neighbourhoods[neighbourhood] = neighbours + 1
            }
            state.total += 1
            total.store(state.total, ordering: .relaxed)
            return .admitted
        }
    }

    /// Adds an address to a connection that entered without one. Returns false when the address is
    /// at its limit; the connection then still counts in total.
    func assign(to neighbourhood: Neighbourhood) -> Bool {
        guard common?.assign(to: neighbourhood) ?? true else { return false }
        return state.withLock { state in
            let neighbours = state.neighbourhoods[neighbourhood, default: 0]
            guard neighbours < limitPerNeighbourhood else { return false }
            state.neighbourhoods[neighbourhood] = neighbours + 1
            return true
        }
    }

    func remove(from neighbourhood: Neighbourhood?) {
        state.withLock { state in
            if let neighbourhood {
                let neighbours = state.neighbourhoods[neighbourhood, default: 1]
                // Addresses without connections are removed, or a scan would grow the table for
                // good.
                state.neighbourhoods[neighbourhood] = neighbours > 1 ? neighbours - 1 : nil
            }
            state.total -= 1
            total.store(state.total, ordering: .relaxed)
        }
        // The common count is reduced last: then this count has room for every connection that the
        // common one admits.
        common?.remove(from: neighbourhood)
    }
}
