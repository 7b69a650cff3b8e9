import Net
import Synchronization
import System

/// A bound on bytes that clients make the server hold, over all loops, with a share for each address.
///
/// What is charged is what is held, never what a head promises: a promise costs its client nothing,
/// and would lock everybody else out. Clients that hold all of it together cannot block each other:
/// a request without room is refused and gives back its part, and a slow client has a deadline.
///
/// One may be within another of the same limit, which counts for several servers together; then it never has more than
/// that, and that decides.
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

    /// Whether more than half is used, by all servers that count together. Costs one load.
    var isScarce: Bool { common?.isScarce ?? (inUse > limit / 2) }

    /// Whether the bytes are left at this moment; nothing is taken. `largest` is the size of one body or
    /// answer that a single address may always have.
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

    /// One neighbourhood takes half at most, so that others always find room; but one body or answer of
    /// the largest size that is allowed must fit where nothing else is. Nil stands for many.
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
