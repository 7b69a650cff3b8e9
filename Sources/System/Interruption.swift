import Synchronization

/// Ends another thread's wait at once, from any thread. It cannot be reset.
package final class Interruption: Sendable {
    private let isGiven = Atomic(false)
    private let wake: WakeUp

    package init() throws(SystemError) {
        wake = try WakeUp()
    }

    package var isSet: Bool { isGiven.load(ordering: .acquiring) }
    /// Readable once `set` was called.
    package var descriptor: CInt { wake.descriptor }

    package func set() {
        isGiven.store(true, ordering: .releasing)
        wake.signal()
    }
}
