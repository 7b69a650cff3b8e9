import COpenSSL
import Glibc

/// A text that must not be seen: printing it shows dots, and its memory is wiped with the last copy.
package struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let memory: GuardedMemory

    package init(_ text: String) {
        var text = text
        memory = text.withUTF8 { GuardedMemory(copying: UnsafeRawBufferPointer($0)) }
    }

    package init(copying bytes: UnsafeRawBufferPointer) {
        memory = GuardedMemory(copying: bytes)
    }

    package var byteCount: Int { memory.bytes.count }

    /// A copy that nobody wipes. For what can only be given as a text; signing takes `withBytes`.
    package var revealed: String { withBytes { String(decoding: $0, as: UTF8.self) } }

    /// Lends the bytes; they are not to be kept.
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withExtendedLifetime(memory) { body(memory.bytes) }
    }

    /// Lends a key that signing makes of the secret, and wipes it after.
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

    /// Takes a time that does not tell where the difference is.
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

/// Overwrites what the bytes held, in a way that no optimiser leaves out. The array must have no other
/// owner, or the copy is wiped instead.
package func wipe(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { buffer in
        guard let start = buffer.baseAddress else { return }
        explicit_bzero(start, buffer.count)
    }
}

/// Pages of their own for one secret: never swapped out where the system allows it, left out of core
/// dumps, wiped at the end.
///
/// Unchecked because of the raw memory. The invariant: it is written by the initialiser only, before
/// anybody else sees it, and given back when the last owner is gone.
private final class GuardedMemory: @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer
    private let pages: UnsafeMutableRawPointer
    private let pageBytes: Int

    init(copying content: UnsafeRawBufferPointer) {
        let unit = Int(sysconf(CInt(_SC_PAGESIZE)))
        pageBytes = max(1, (content.count + unit - 1) / unit) * unit
        let protection = PROT_READ | PROT_WRITE
        let flags = MAP_PRIVATE | MAP_ANONYMOUS
        guard let pages = mmap(nil, pageBytes, protection, flags, -1, 0), pages != MAP_FAILED else {
            preconditionFailure("out of memory")
        }
        self.pages = pages
        // Both may fail: a low RLIMIT_MEMLOCK is common, and the secret is then as safe as other memory.
        mlock(pages, pageBytes)
        madvise(pages, pageBytes, MADV_DONTDUMP)
        UnsafeMutableRawBufferPointer(start: pages, count: pageBytes).copyMemory(from: content)
        bytes = UnsafeRawBufferPointer(start: pages, count: content.count)
    }

    deinit {
        explicit_bzero(pages, pageBytes)
        munmap(pages, pageBytes)
    }
}
