import COpenSSL
import Glibc

/// A text that must stay secret: it prints as dots, and its memory is wiped with the last copy.
package struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let memory: SecretMemory.Block

    package init(_ text: String) {
        var text = text
        memory = text.withUTF8 { SecretMemory.shared.copy(UnsafeRawBufferPointer($0)) }
    }

    package init(copying bytes: UnsafeRawBufferPointer) {
        memory = SecretMemory.shared.copy(bytes)
    }

    package var byteCount: Int { memory.bytes.count }

    /// A copy that is never wiped. Only for interfaces that take a String; signing uses
    /// `withBytes`.
    package var revealed: String { withBytes { String(decoding: $0, as: UTF8.self) } }

    /// Lends the bytes; the body must not keep them.
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withExtendedLifetime(memory) { body(memory.bytes) }
    }

    /// Lends a signing key, made of the secret with a prefix and a suffix, and wipes it afterwards.
    package func withKey<Result>(
        before: String = "",
        after: String = "",
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        var key: [UInt8] = []
        key.reserveCapacity(before.utf8.count + byteCount + after.utf8.count)
        key.append(contentsOf: before.utf8)
        withBytes { key.append(contentsOf: $0) }
        key.append(contentsOf: after.utf8)
        defer { wipe(&key) }
        return key.withUnsafeBytes(body)
    }

    /// Compares in constant time, so timing does not reveal the first difference.
    package static func == (left: Secret, right: Secret) -> Bool {
        left.withBytes { left in
            right.withBytes { right in
                left.count == right.count
                    && (left.isEmpty
                        || CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0)
            }
        }
    }

    package var description: String { "•••" }
    package var debugDescription: String { "•••" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Overwrites the bytes in a way that no optimiser removes. The array must have no other owner, or
/// only a copy is wiped.
package func wipe(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { buffer in
        guard let start = buffer.baseAddress else { return }
        explicit_bzero(start, buffer.count)
    }
}
