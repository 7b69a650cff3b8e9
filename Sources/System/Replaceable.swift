import Synchronization

/// A value that every request reads and a reload replaces, such as the routing table or the device keys.
package final class Replaceable<Value: Sendable>: Sendable {
    private let current: Locked<Value>
    /// Incremented after the value changes, so a thread that sees the new number finds the new value.
    private let generation = Atomic<Int>(0)

    package init(_ value: Value) {
        current = Locked(value)
    }

    package var value: Value { current.withLock { $0 } }

    package func replace(_ new: Value) {
        replace { _ in new }
    }

    package func replace(_ new: (Value) -> Value) {
        current.withLock { $0 = new($0) }
        generation.add(1, ordering: .releasing)
    }

    /// A loop's own copy of the value. While the value stays the same, a refresh costs one atomic load.
    package struct Snapshot {
        private let source: Replaceable
        /// Changes with the value.
        package let generation: Int
        package let value: Value

        package init(of source: Replaceable) {
            self.source = source
            generation = source.generation.load(ordering: .acquiring)
            value = source.value
        }

        package mutating func refresh() {
            guard source.generation.load(ordering: .acquiring) != generation else { return }
            self = Snapshot(of: source)
        }
    }
}
