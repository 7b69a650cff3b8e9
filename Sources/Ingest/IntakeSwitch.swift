import Synchronization

/// Turned off, no device's batch is taken any more, so that what is queued can leave.
package final class IntakeSwitch: Sendable {
    private let off = Atomic<Bool>(false)
    private let entered = Atomic<Int>(0)

    package init() {}

    package var isOff: Bool { off.load(ordering: .sequentiallyConsistent) }

    /// Requests that are being stored and not answered yet. Once the switch is off and nobody is on the way, nothing
    /// will be accepted any more.
    package var arriving: Int { entered.load(ordering: .sequentiallyConsistent) }

    package func turn(off isOff: Bool) {
        off.store(isOff, ordering: .sequentiallyConsistent)
    }

    /// A request is about to be stored; false when it may not, also if it was let in before its body came. Whoever
    /// may has to leave.
    ///
    /// Counted before the look at the switch: whoever turns it off and then finds nobody knows that nobody passed.
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
