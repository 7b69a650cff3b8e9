import Glibc

/// A system call that failed, with the kernel's reason.
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

/// Runs a call that reports failure as -1, retrying when a signal cut it short.
package func system<Result: FixedWidthInteger & SignedInteger>(
    _ call: StaticString,
    _ body: () -> Result
) throws(SystemError) -> Result {
    while true {
        let result = body()
        guard result == -1 else { return result }
        // Read errno before anything that might release an object: a free can overwrite it.
        let code = errno
        guard code == EINTR else { throw SystemError(call: "\(call)", code: code) }
    }
}

/// What a call on a non-blocking descriptor came to.
package enum Outcome: Equatable {
    case done(Int)
    case wouldBlock
}

/// As `system`, for descriptors that do not block: "not now" is a value, not an error.
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
