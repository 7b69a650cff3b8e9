import System

/// A value that threads change and one test thread waits for.
package final class SharedValue<Value: Sendable>: Sendable {
    private let value: Locked<Value>
    private let changed = WakeUp.made()

    package init(_ initial: Value) { value = Locked(initial) }

    package var now: Value { value.withLock { $0 } }

    @discardableResult
    package func change<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
        let result = value.withLock { body(&$0) }
        changed.signal()
        return result
    }

    /// Waits until the condition holds; false when it does not within the limit.
    @discardableResult
    package func wait(
        _ limit: Duration = .seconds(20),
        until condition: @Sendable (Value) -> Bool
    ) -> Bool {
        let end = Moment.now + limit
        while true {
            if value.withLock({ condition($0) }) { return true }
            let left = end - .now
            guard left > .zero else { return false }
            changed.wait(timeout: left)
        }
    }
}

/// Values that other threads put and one test thread takes, in their order.
package final class Awaited<Value: Sendable>: Sendable {
    private let values = Locked<[Value]>([])
    private let arrived = WakeUp.made()

    package init() {}

    package var count: Int { values.withLock { $0.count } }

    package func put(_ value: Value) {
        values.withLock { $0.append(value) }
        arrived.signal()
    }

    /// Waits for so many values.
    package func take(_ count: Int) -> [Value] {
        while values.withLock({ $0.count }) < count { arrived.wait() }
        return values.withLock { values in
            let taken = Array(values.prefix(count))
            values.removeFirst(count)
            return taken
        }
    }

    /// The next value; nil when none comes within the limit.
    package func takeOne(within limit: Duration) -> Value? {
        let end = Moment.now + limit
        while values.withLock({ $0.isEmpty }) {
            let left = end - .now
            guard left > .zero else { return nil }
            arrived.wait(timeout: left)
        }
        return values.withLock { $0.removeFirst() }
    }
}

extension WakeUp {
    static func made() -> WakeUp {
        guard let made = try? WakeUp() else { preconditionFailure("no descriptors left") }
        return made
    }
}
