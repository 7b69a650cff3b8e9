import System

/// A value that threads change and a test waits for.
final class Signpost<Value: Sendable>: Sendable {
    private let value: Locked<Value>
    private let changed: WakeUp

    init(_ initial: Value) throws {
        value = Locked(initial)
        changed = try WakeUp()
    }

    var now: Value { value.withLock { $0 } }

    func change<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
        let result = value.withLock { body(&$0) }
        changed.signal()
        return result
    }

    /// Waits until the condition holds, and tells whether it does; for one test thread.
    @discardableResult
    func wait(
        _ patience: Duration = .seconds(20),
        until condition: @Sendable (Value) -> Bool
    ) -> Bool {
        let end = Moment.now + patience
        while true {
            if value.withLock({ condition($0) }) { return true }
            let left = end - .now
            guard left > .zero else { return false }
            changed.wait(timeout: left)
        }
    }
}
