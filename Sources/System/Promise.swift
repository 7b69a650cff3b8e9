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
