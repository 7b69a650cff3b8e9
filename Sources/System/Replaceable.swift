import Synchronization

/// A value that every request reads and a reload replaces, such as the routing table or the device keys.
package final class Replaceable<Value: Sendable>: Sendable {
    private struct Current {
        var value: Value
        /// Grows with each new value.
        var generation = 0
    }

    private let current: Locked<Current>
    /// The present generation, so a refresh without news takes no lock.
    private let hint = Atomic<Int>(0)

    package init(_ value: Value) {
        current = Locked(Current(value: value))
    }

    package var value: Value { current.withLock { $0.value } }

    package func replace(_ new: Value) {
        replace { _ in new }
    }

    package func replace(_ new: (Value) -> Value) {
        current.withLock { current in
            current.value = new(current.value)
            current.generation += 1
            hint.store(current.generation, ordering: .releasing)
        }
    }

    /// A loop's own copy of the value. While the value stays the same, a refresh costs one atomic load.
    package struct Snapshot {
        private let source: Replaceable
        /// Two snapshots with the same generation have the same value.
        package let generation: Int
        package let value: Value

        package init(of source: Replaceable) {
            self.source = source
            (value, generation) = source.current.withLock { ($0.value, $0.generation) }
        }

        package mutating func refresh() {
            guard source.hint.load(ordering: .acquiring) != generation else { return }
            self = Snapshot(of: source)
        }
    }
}
