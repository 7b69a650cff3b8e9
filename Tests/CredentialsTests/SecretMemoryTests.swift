import Glibc
import System
import TestSupport
import Testing

@testable import Crypto

/// Where secrets lie.
@Suite struct SecretMemoryTests {
    private let unlockable: @Sendable (UnsafeRawPointer, Int) -> CInt = { _, _ in
        errno = ENOMEM
        return -1
    }

    private func copy(_ text: String, to memory: SecretMemory) -> SecretMemory.Block {
        Array(text.utf8).withUnsafeBytes { memory.copy($0) }
    }

    @Test("A thousand keys share pages of 64 KiB, and locking takes no more than these")
    func shared() {
        let locked = SharedValue(0)
        let memory = SecretMemory(pageBytes: 64 << 10) { _, count in
            locked.change { $0 += count }
            return 0
        }
        let texts = (0..<1000).map { "key-\($0)-of-about-forty-characters-in-all" }
        var blocks = texts.map { copy($0, to: memory) }
        #expect(memory.pageCount == 1 && locked.now == 64 << 10)
        for (block, text) in zip(blocks, texts) { #expect(block.bytes.elementsEqual(text.utf8)) }
        // What is free is used again, and pages without secrets go.
        blocks.removeSubrange(200..<700)
        blocks += texts[200..<700].map { copy($0, to: memory) }
        #expect(memory.pageCount == 1)
        let large = String(repeating: "x", count: 100_000)
        var extra: SecretMemory.Block? = copy(large, to: memory)
        #expect(extra?.bytes.elementsEqual(large.utf8) == true && memory.pageCount == 2)
        extra = nil
        #expect(memory.pageCount == 1)
        blocks = []
        #expect(memory.pageCount == 0)
    }

    @Test("The memory of a secret is wiped, and its neighbours' is not")
    func wiped() {
        let memory = SecretMemory(pageBytes: 4096) { _, _ in 0 }
        let neighbour = copy("neighbour", to: memory)
        var secret: SecretMemory.Block? = copy(String(repeating: "s", count: 60), to: memory)
        let place = secret?.bytes
        secret = nil
        #expect(place?.allSatisfy { $0 == 0 } == true)
        #expect(neighbour.bytes.elementsEqual("neighbour".utf8))
    }

    @Test("Memory that cannot be locked is told once, to a listener that came before or after")
    func unlocked() {
        for comesLate in [false, true] {
            let told = SharedValue<[SystemError]>([])
            let memory = SecretMemory(pageBytes: 4096, lock: unlockable)
            let large = String(repeating: "x", count: 5000)
            var blocks = comesLate ? [copy(large, to: memory)] : []
            memory.onLockFailure { error in told.change { $0.append(error) } }
            blocks += (0..<3).map { _ in copy(large, to: memory) }
            #expect(told.now == [SystemError(call: "mlock", code: ENOMEM)])
            #expect(blocks.allSatisfy { $0.bytes.elementsEqual(large.utf8) })
        }
    }
}
