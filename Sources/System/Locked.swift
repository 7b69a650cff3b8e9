import CSystem
import Synchronization

/// A value that one thread at a time may use.
///
/// The program's only lock: it reports its edges to ThreadSanitizer, which `Mutex` alone does not.
///
/// Wrap a closure in a struct before locking it. A bare closure is reabstracted at every access, and each time the
/// wrapper stays: one more call deep and 64 bytes larger.
package final class Locked<Value: ~Copyable>: Sendable {
    private let mutex: Mutex<Value>

    package init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { value throws(Failure) in
            let edge = Unmanaged.passUnretained(self).toOpaque()
            sluice_tsan_acquired(edge)
            defer { sluice_tsan_releasing(edge) }
            return try body(&value)
        }
    }
}
