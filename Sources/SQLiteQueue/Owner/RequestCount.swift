import Synchronization
import System

/// Counts the requests that callers posted to the owner, and wakes the owner when as many are there
/// as it waits for.
final class RequestCount: Sendable {
    private let posted = Atomic<Int>(0)
    /// The number of the request that wakes the owner.
    private let awaited = Atomic<Int>(.max)
    private let wake: WakeUp

    init(_ wake: WakeUp) {
        self.wake = wake
    }

    /// Called after each post of a request.
    func add() {
        // The owner stores the awaited number before it reads the count, so at least one of the two
        // sees the other.
        let number = posted.add(1, ordering: .sequentiallyConsistent).newValue
        if number == awaited.load(ordering: .sequentiallyConsistent) { wake.signal() }
    }

    /// All requests since the start.
    var total: Int { posted.load(ordering: .sequentiallyConsistent) }

    /// The owner is about to wait. Returns false if the request with that number is there already.
    func wakeOwner(at number: Int) -> Bool {
        awaited.store(number, ordering: .sequentiallyConsistent)
        return total < number
    }

    /// The owner has waited.
    func wakeOwnerNoMore() {
        awaited.store(.max, ordering: .relaxed)
    }
}
