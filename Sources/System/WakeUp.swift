import CSystem
import Glibc
import Synchronization

/// Wakes one thread that sleeps in `wait`, or in `poll` or `epoll_wait` on its descriptor.
package final class WakeUp: Sendable {
    private let event: OwnedDescriptor

    package init() throws(SystemError) {
        event = OwnedDescriptor(
            taking: try system("eventfd") { eventfd(0, CInt(EFD_NONBLOCK) | CInt(EFD_CLOEXEC)) }
        )
    }

    package var descriptor: CInt { event.number }

    package func signal() {
        // The write fails only when the counter is full, and then the thread is awake anyway.
        _ = eventfd_write(event.number, 1)
    }

    /// Clears all signals so far.
    package func clear() {
        var count: eventfd_t = 0
        _ = eventfd_read(event.number, &count)
    }

    /// Sleeps until a signal or the timeout; nil waits without limit.
    package func wait(timeout: Duration? = nil) {
        sluice_wait_readable(event.number, timeout.map(Self.nanoseconds(of:)) ?? -1)
        clear()
    }

    private static func nanoseconds(of timeout: Duration) -> Int64 {
        max(0, (Moment(nanoseconds: 0) + timeout).nanoseconds)
    }
}

extension Duration {
    /// Whole milliseconds, rounded up, so that a thread does not wake just before its time.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}

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

/// A value that one thread sets and another waits for.
package final class Promise<Value: Sendable>: Sendable {
    private let value = Locked<Value?>(nil)
    private let wake: WakeUp

    package init() throws(SystemError) {
        wake = try WakeUp()
    }

    package func bring(_ value: Value) {
        self.value.withLock { $0 = value }
        wake.signal()
    }

    package func wait() -> Value {
        while true {
            if let value = value.withLock({ $0 }) { return value }
            wake.wait()
        }
    }

    /// nil when the value does not come in time.
    package func wait(atMost time: Duration) -> Value? {
        let deadline = Moment.now + time
        while true {
            if let value = value.withLock({ $0 }) { return value }
            guard Moment.now < deadline else { return nil }
            wake.wait(timeout: deadline - .now)
        }
    }
}
