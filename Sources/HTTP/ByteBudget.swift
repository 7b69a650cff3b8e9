import Net
import Synchronization
import System

/// A bound on the bytes that clients make the server hold, over all loops, with a share for each
/// address.
///
/// The budget charges bytes that are held, never the length that a head promises. A promise costs
/// its client nothing and would lock out all others. Clients that hold the whole budget together
/// cannot block each other: a request without room is refused and gives its part back, and a slow
/// client has a deadline.
///
/// A budget may be part of a common one of the same limit, which counts for several servers. It
/// then never holds more than the common one, whose verdict decides.
final class ByteBudget: Sendable {
    private struct State {
        var used = 0
        var neighbourhoods: [Neighbourhood: Int] = [:]
    }

    let limit: Int
    private let common: ByteBudget?
    private let state = Locked(State())
    private let total = Atomic<Int>(0)

    init(limit: Int, within common: ByteBudget? = nil) {
        self.limit = limit
        self.common = common
    }

    var inUse: Int { total.load(ordering: .relaxed) }

    /// True if all servers of this budget together use more than half. Costs one load.
    var isScarce: Bool { common?.isScarce ?? (inUse > limit / 2) }

    /// Checks for room without taking it. `largest` is the size of one body or answer that a single
    /// address may always have.
    func hasRoom(for count: Int, of neighbourhood: Neighbourhood?, largest: Int) -> Bool {
        if let common {
            return common.hasRoom(for: count, of: neighbourhood, largest: largest)
        }
        return state.withLock { hasRoom(for: count, of: neighbourhood, largest, $0) }
    }

    func take(_ count: Int, for neighbourhood: Neighbourhood?, largest: Int) -> Bool {
        if let common,
            !common.take(count, for: neighbourhood, largest: largest)
        {
            return false
        }
        let isTaken = state.withLock { state in
            guard hasRoom(for: count, of: neighbourhood, largest, state) else { return false }
            state.used += count
            if let neighbourhood { state.neighbourhoods[neighbourhood, default: 0] += count }
            total.store(state.used, ordering: .relaxed)
            return true
        }
        if !isTaken { common?.giveBack(count, of: neighbourhood) }
        return isTaken
    }

    func giveBack(_ count: Int, of neighbourhood: Neighbourhood?) {
        guard count > 0 else { return }
        state.withLock { state in
            state.used -= count
            if let neighbourhood {
                let left = state.neighbourhoods[neighbourhood, default: count] - count
                state.neighbourhoods[neighbourhood] = left > 0 ? left : nil
            }
            total.store(state.used, ordering: .relaxed)
        }
        common?.giveBack(count, of: neighbourhood)
    }

    /// One address takes at most half, so that others always find room. But a body or answer of the
    /// largest allowed size must fit into an otherwise empty budget. A nil neighbourhood stands for
    /// many clients.
    private func hasRoom(
        for count: Int,
        of neighbourhood: Neighbourhood?,
        _ largest: Int,
        _ state: borrowing State
    ) -> Bool {
        guard count <= limit - state.used else { return false }
        guard let neighbourhood else { return true }
        return count + state.neighbourhoods[neighbourhood, default: 0]
            <= max(limit / 2, largest)
    }
}

/// Bytes taken from a budget; they go back when the last reference ends.
final class ByteShare: Sendable {
    let bytes: Int
    private let budget: ByteBudget
    private let neighbourhood: Neighbourhood?

    /// For bytes that are taken already.
    init(taken bytes: Int, of budget: ByteBudget, for neighbourhood: Neighbourhood?) {
        self.bytes = bytes
        self.budget = budget
        self.neighbourhood = neighbourhood
    }

    deinit { budget.giveBack(bytes, of: neighbourhood) }
}
