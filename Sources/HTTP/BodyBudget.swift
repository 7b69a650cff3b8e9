import Net
import Synchronization
import System

/// The bytes of bodies whose requests have no answer yet, over all loops.
///
/// What is charged is what is held, never what a head promises: a promise costs its client nothing,
/// and would lock everybody else out. Bodies that are half there and hold all of it together cannot
/// block each other, since whoever finds no room is refused and gives back its part, and whoever is
/// slow has a deadline.
///
/// One may be within another of the same limit, which counts for several servers together; then it never has more than
/// that, and that decides.
final class BodyBudget: Sendable {
    private struct State {
        var used = 0
        var neighbourhoods: [Neighbourhood: Int] = [:]
    }

    private let limit: Int
    private let common: BodyBudget?
    private let state = Locked(State())
    private let total = Atomic<Int>(0)

    init(limit: Int, within common: BodyBudget? = nil) {
        self.limit = limit
        self.common = common
    }

    var inUse: Int { total.load(ordering: .relaxed) }

    /// Whether the bytes are left at this moment; nothing is taken.
    func hasRoom(for count: Int, of neighbourhood: Neighbourhood?, bodyBytesMax: Int) -> Bool {
        if let common {
            return common.hasRoom(for: count, of: neighbourhood, bodyBytesMax: bodyBytesMax)
        }
        return state.withLock { hasRoom(for: count, of: neighbourhood, bodyBytesMax, $0) }
    }

    func take(_ count: Int, for neighbourhood: Neighbourhood?, bodyBytesMax: Int) -> Bool {
        if let common,
            !common.take(count, for: neighbourhood, bodyBytesMax: bodyBytesMax)
        {
            return false
        }
        return state.withLock { state in
            guard hasRoom(for: count, of: neighbourhood, bodyBytesMax, state) else { return false }
            state.used += count
            if let neighbourhood { state.neighbourhoods[neighbourhood, default: 0] += count }
            total.store(state.used, ordering: .relaxed)
            return true
        }
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

    /// One neighbourhood takes half at most, so that others always find room; but one body of the
    /// largest size that is allowed must fit where nothing else is. Nil stands for many.
    private func hasRoom(
        for count: Int,
        of neighbourhood: Neighbourhood?,
        _ bodyBytesMax: Int,
        _ state: borrowing State
    ) -> Bool {
        guard count <= limit - state.used else { return false }
        guard let neighbourhood else { return true }
        return count + state.neighbourhoods[neighbourhood, default: 0]
            <= max(limit / 2, bodyBytesMax)
    }
}
