public import Synchronization

/// A value that every request reads and a reload replaces, such as the routing table or the device
/// keys.
///
/// Public for the reason that `Locked` is.
public final class Replaceable<Value: Sendable>: Sendable {
    @usableFromInline
    struct Current {
        @usableFromInline
        var value: Value
        /// Grows with each new value.
        @usableFromInline
        var generation = 0
    }

    @usableFromInline
    let current: Locked<Current>
    /// The present generation, so a refresh without news takes no lock.
    @usableFromInline
    let hint = Atomic<Int>(0)

    package init(_ value: Value) {
        current = Locked(Current(value: value))
    }

    /// The present value.
    @inlinable
    public var value: Value { current.withLock { $0.value } }

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

    /// A loop's own copy of the value. While the value stays the same, a refresh costs one atomic
    /// load.
    public struct Snapshot {
        @usableFromInline
        let source: Replaceable
        /// Two snapshots with the same generation have the same value.
        public let generation: Int
        /// The value of this generation.
        public let value: Value

        /// A copy of the present value.
        @inlinable
        public init(of source: Replaceable) {
            self.source = source
            (value, generation) = source.current.withLock { ($0.value, $0.generation) }
        }

        /// Takes over the present value.
        @inlinable
        public mutating func refresh() {
            guard source.hint.load(ordering: .acquiring) != generation else { return }
            self = Snapshot(of: source)
        }
    }
}
