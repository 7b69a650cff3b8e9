import Synchronization
import System

/// What destinations know of a host's clock that is wrong, for whoever measures logs by that clock.
package final class ClockOffsets: Sendable {
    /// Mostly none, and then nobody takes the lock.
    private let count = Atomic<Int>(0)
    private let offsets = Locked<[String: Duration]>([:])

    /// SLS's clock minus the host's where that is known to be much, else nothing.
    package func offset(for destination: String) -> Duration {
        guard count.load(ordering: .relaxed) > 0 else { return .zero }
        return offsets.withLock { $0[destination] ?? .zero }
    }

    /// The delivery thread's alone.
    func set(_ offset: Duration?, for destination: String) {
        let known = offsets.withLock { offsets in
            offsets[destination] = offset
            return offsets.count
        }
        count.store(known, ordering: .relaxed)
    }
}
