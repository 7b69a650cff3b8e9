import Glibc

/// Owns a kernel descriptor; the end of the value closes it.
package struct OwnedDescriptor: ~Copyable, Sendable {
    package let number: CInt

    package init(taking number: CInt) {
        precondition(number >= 0, "a failed call must become a SystemError first")
        self.number = number
    }

    // On Linux the descriptor is closed even when close reports EINTR, so close is never retried.
    deinit { _ = Glibc.close(number) }
}
