import CSystem
import Glibc

/// A failed system call with the kernel's reason.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    package let call: String
    package let code: CInt

    package init(call: String, code: CInt) {
        self.call = call
        self.code = code
    }

    /// "bind: Address already in use"
    package var description: String {
        "\(call): \(String(cString: strerror(code)))"
    }
}

/// Runs a call that reports failure as -1, and retries it when a signal interrupts it.
package func system<Result: FixedWidthInteger & SignedInteger>(
    _ call: StaticString,
    _ body: () -> Result
) throws(SystemError) -> Result {
    while true {
        let result = body()
        guard result == -1 else { return result }
        // Read errno first: releasing an object may call free, which can overwrite it.
        let code = errno
        guard code == EINTR else { throw SystemError(call: "\(call)", code: code) }
    }
}

/// The result of a call on a non-blocking descriptor.
package enum Outcome: Equatable {
    case done(Int)
    case wouldBlock
}

/// Like `system`, for non-blocking descriptors: "would block" is a value, not an error.
package func attempt(_ call: StaticString, _ body: () -> Int) throws(SystemError) -> Outcome {
    while true {
        let result = body()
        guard result == -1 else { return .done(result) }
        let code = errno
        switch code {
        case EINTR: continue
        case EAGAIN: return .wouldBlock
        default: throw SystemError(call: "\(call)", code: code)
        }
    }
}

/// Owns a kernel descriptor; the end of the value closes it.
package struct OwnedDescriptor: ~Copyable, Sendable {
    package let number: CInt

    package init(taking number: CInt) {
        precondition(number >= 0, "a failed call must become a SystemError first")
        self.number = number
    }

    /// Ends the ownership without closing: the caller closes the descriptor, or passes it on.
    package consuming func released() -> CInt {
        let number = number
        discard self
        return number
    }

    // On Linux the descriptor is closed even when close reports EINTR, so close is never retried.
    deinit { _ = Glibc.close(number) }
}

/// Cryptographically secure random bytes from the kernel.
package func randomBytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        // getrandom fails only for a bad pointer or a kernel without the call.
        precondition(sluice_random(buffer.baseAddress, count) == 0, "the kernel has no randomness")
        filled = count
    }
}
