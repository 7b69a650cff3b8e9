import Synchronization

/// Turned off, no device's batch is taken any more, so that what is queued can leave.
package final class IntakeSwitch: Sendable {
    private let off = Atomic<Bool>(false)

    package init() {}

    var isOff: Bool { off.load(ordering: .relaxed) }

    func turn(off isOff: Bool) {
        off.store(isOff, ordering: .relaxed)
    }
}
