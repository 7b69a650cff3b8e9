import CSystem

/// Cryptographically secure random bytes from the kernel.
package func randomBytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        // getrandom fails only for a bad pointer or a kernel without the call.
        precondition(sluice_random(buffer.baseAddress, count) == 0, "the kernel has no randomness")
        filled = count
    }
}
