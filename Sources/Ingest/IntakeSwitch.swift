import Synchronization

/// Turned off, the gateway accepts no more batches of devices, so that the queue can drain.
package final class IntakeSwitch: Sendable {
    private let off = Atomic<Bool>(false)
    private let entered = Atomic<Int>(0)

    package init() {}

    package var isOff: Bool { off.load(ordering: .sequentiallyConsistent) }

    /// Requests that are being stored and not answered yet. When the switch is off and this is 0,
    /// nothing will be accepted any more.
    package var arriving: Int { entered.load(ordering: .sequentiallyConsistent) }

    package func turn(off isOff: Bool) {
        off.store(isOff, ordering: .sequentiallyConsistent)
    }

    /// Called before a request is stored. False when the switch is off, also for a request that was
    /// admitted before the switch was turned off. After true, the caller must call `leave`.
    ///
    /// The count rises before the switch is read, so a caller that turns the switch off and then
    /// reads 0 knows that no request passed.
    func enter() -> Bool {
        entered.add(1, ordering: .sequentiallyConsistent)
        guard isOff else { return true }
        leave()
        return false
    }

    func leave() {
        entered.subtract(1, ordering: .sequentiallyConsistent)
    }
}
