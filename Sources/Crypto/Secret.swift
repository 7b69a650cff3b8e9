import COpenSSL
import Glibc
package import System

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

    /// A copy that is never wiped, for interfaces that take a String; signing uses `withBytes`.
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

/// Memory for secrets: locked in RAM where the system allows it, left out of core dumps, and wiped
/// before other secrets use it. Secrets share pages, because a page may have 64 KiB and a process
/// may lock few of them.
package final class SecretMemory: Sendable {
    /// The memory of one secret, which its end wipes.
    ///
    /// Unchecked because of the raw memory. Invariant: only the initialiser writes it, before any
    /// other thread can see it, and no other block has it before the end of deinit.
    final class Block: @unchecked Sendable {
        let bytes: UnsafeRawBufferPointer
        private let memory: SecretMemory
        private let page: Page
        private let units: Range<Int>
        /// Masks the secret wherever it stands in text that operators see; nil: it is too short.
        private let known: KnownSecrets.Entry?

        fileprivate init(
            _ memory: SecretMemory,
            _ page: Page,
            units: Range<Int>,
            content: UnsafeRawBufferPointer
        ) {
            (self.memory, self.page, self.units) = (memory, page, units)
            let start = page.start + units.lowerBound * SecretMemory.unitBytes
            UnsafeMutableRawBufferPointer(start: start, count: content.count)
                .copyMemory(from: content)
            bytes = UnsafeRawBufferPointer(start: start, count: content.count)
            known = KnownSecrets.Entry(bytes)
        }

        deinit {
            let size = units.count * SecretMemory.unitBytes
            explicit_bzero(page.start + units.lowerBound * SecretMemory.unitBytes, size)
            memory.free(units, of: page)
        }
    }

    /// One page, or several for a large secret.
    ///
    /// Unchecked: `isUsed` is touched with the lock of the memory only, and each part of the
    /// mapping by one block.
    fileprivate final class Page: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
        private let byteCount: Int
        var isUsed: [Bool]

        init(bytes: Int) {
            let (access, kind) = (PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS)
            guard let start = mmap(nil, bytes, access, kind, -1, 0), start != MAP_FAILED else {
                preconditionFailure("out of memory")
            }
            // It fails on old kernels only.
            madvise(start, bytes, MADV_DONTDUMP)
            self.start = start
            byteCount = bytes
            isUsed = Array(repeating: false, count: bytes / SecretMemory.unitBytes)
        }

        deinit { munmap(start, byteCount) }

        /// The first free units in a row.
        func room(for count: Int) -> Range<Int>? {
            var free = 0
            for index in isUsed.indices {
                free = isUsed[index] ? 0 : free + 1
                if free == count { return index + 1 - count..<index + 1 }
            }
            return nil
        }

        func mark(_ units: Range<Int>, _ isUsed: Bool) {
            for index in units { self.isUsed[index] = isUsed }
        }
    }

    private struct State {
        var pages: [Page] = []
        var failure: SystemError?
        var listener: Listener?
    }

    private typealias Listener = @Sendable (SystemError) -> Void

    private static let unitBytes = 32
    package static let shared = SecretMemory(pageBytes: Int(sysconf(CInt(_SC_PAGESIZE)))) {
        mlock($0, $1)
    }

    private let pageBytes: Int
    private let lock: @Sendable (UnsafeRawPointer, Int) -> CInt
    private let state = Locked(State())

    init(pageBytes: Int, lock: @escaping @Sendable (UnsafeRawPointer, Int) -> CInt) {
        self.pageBytes = pageBytes
        self.lock = lock
    }

    var pageCount: Int { state.withLock { $0.pages.count } }

    /// Calls back once, on any thread, when the system refuses to lock a page, also if it has done
    /// so already. The secrets of this page are then as safe as other memory.
    package func onLockFailure(_ tell: @escaping @Sendable (SystemError) -> Void) {
        let failure = state.withLock { state in
            if state.failure == nil { state.listener = tell }
            return state.failure
        }
        if let failure { tell(failure) }
    }

    func copy(_ content: UnsafeRawBufferPointer) -> Block {
        let count = max(1, (content.count + Self.unitBytes - 1) / Self.unitBytes)
        let (block, listener, failure) = state.withLock { state in
            for page in state.pages {
                guard let units = page.room(for: count) else { continue }
                page.mark(units, true)
                let block = Block(self, page, units: units, content: content)
                return (block, nil as Listener?, nil as SystemError?)
            }
            let pages = (count * Self.unitBytes + pageBytes - 1) / pageBytes
            let page = Page(bytes: pages * pageBytes)
            let refusal = lock(page.start, pages * pageBytes) == 0 ? nil : errno
            page.mark(0..<count, true)
            state.pages.append(page)
            let block = Block(self, page, units: 0..<count, content: content)
            guard let refusal, state.failure == nil else { return (block, nil, nil) }
            let failure = SystemError(call: "mlock", code: refusal)
            state.failure = failure
            return (block, state.listener.take(), failure)
        }
        if let listener, let failure { listener(failure) }
        return block
    }

    private func free(_ units: Range<Int>, of page: Page) {
        state.withLock { state in
            page.mark(units, false)
            if !page.isUsed.contains(true) { state.pages.removeAll { $0 === page } }
        }
    }
}

/// A bounded buffer for bytes that may hold a secret. It never reallocates, which would leave
/// copies behind, and it wipes itself at the end.
package final class WipedBytes {
    package private(set) var bytes: [UInt8] = []
    package let countMax: Int

    package init(countMax: Int) {
        self.countMax = countMax
        bytes.reserveCapacity(countMax)
    }

    /// Returns false when there is no room.
    package func append(_ piece: UnsafeRawBufferPointer) -> Bool {
        guard piece.count <= countMax - bytes.count else { return false }
        bytes.append(contentsOf: piece)
        return true
    }

    deinit { wipe(&bytes) }
}
