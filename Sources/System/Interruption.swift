import Synchronization

/// Ends at once, from any thread, what another thread waits for. It is for good.
package final class Interruption: Sendable {
    private let isGiven = Atomic(false)
    private let wake: WakeUp

    package init() throws(SystemError) {
        wake = try WakeUp()
    }

    package var isSet: Bool { isGiven.load(ordering: .acquiring) }
    /// Readable once it is set.
    package var descriptor: CInt { wake.descriptor }

    package func set() {
        isGiven.store(true, ordering: .releasing)
        wake.signal()
    }
}
