import COpenSSL
import Glibc

/// A text that must stay secret: it prints as dots, and its memory is wiped with the last copy.
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

    /// A copy that is never wiped. Only for interfaces that take a String; signing uses `withBytes`.
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

/// Overwrites the bytes in a way that no optimiser removes. The array must have no other owner, or only a copy is
/// wiped.
package func wipe(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { buffer in
        guard let start = buffer.baseAddress else { return }
        explicit_bzero(start, buffer.count)
    }
}

/// Whole memory pages for one secret: locked in RAM where the system allows it, left out of core dumps, and wiped at
/// the end.
///
/// Unchecked because of the raw memory. Invariant: only the initialiser writes it, before any other thread can see it,
/// and deinit unmaps it.
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
        // Both calls may fail: a low RLIMIT_MEMLOCK is common. The secret is then as safe as other memory.
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
