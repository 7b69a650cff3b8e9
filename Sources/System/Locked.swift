import CSystem
import Synchronization

/// A value that several threads use one at a time.
///
/// The one lock of the program: it tells ThreadSanitizer of its edges, which `Mutex` alone does not.
///
/// A closure goes into it as a member of a struct. By itself it would be converted each time it is reached, and stay
/// so: one more call deep, and 64 bytes, each time.
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
