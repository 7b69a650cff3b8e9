import Synchronization

/// The bytes of bodies whose requests have no answer yet, over all loops.
final class BodyBudget: Sendable {
    private let limit: Int
    private let used = Atomic<Int>(0)

    init(limit: Int) {
        self.limit = limit
    }

    var inUse: Int { used.load(ordering: .relaxed) }

    /// Takes the bytes if they are left; declared ones are taken before the first of them is read.
    func take(_ count: Int) -> Bool {
        let (_, after) = used.add(count, ordering: .relaxed)
        guard after <= limit else {
            giveBack(count)
            return false
        }
        return true
    }

    func giveBack(_ count: Int) {
        if count > 0 { used.subtract(count, ordering: .relaxed) }
    }
}
