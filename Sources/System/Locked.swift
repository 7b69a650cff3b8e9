import CSystem
public import Synchronization

/// A value that one thread at a time may use.
///
/// The program's only lock: it reports its edges to ThreadSanitizer, which `Mutex` alone does not.
///
/// Wrap a closure in a struct before locking it. A bare closure is reabstracted at every access,
/// and each time the wrapper stays: one more call deep and 64 bytes larger.
///
/// Public, so that other rooms inline it: the compiler inlines no package function into another
/// module, and the generic one looks its type up at each call.
public final class Locked<Value: ~Copyable>: Sendable {
    @usableFromInline
    let mutex: Mutex<Value>

    /// The value is this lock's alone from here on.
    @inlinable
    public init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Runs the body with the value, which no other thread has meanwhile.
    @inlinable
    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { value throws(Failure) in
            acquired()
            defer { releasing() }
            return try body(&value)
        }
    }

    @usableFromInline
    func acquired() { sluice_tsan_acquired(Unmanaged.passUnretained(self).toOpaque()) }

    @usableFromInline
    func releasing() { sluice_tsan_releasing(Unmanaged.passUnretained(self).toOpaque()) }
}

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

    /// A loop's own copy of the value; a refresh costs one atomic load while it stays the same.
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
