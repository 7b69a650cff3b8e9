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
