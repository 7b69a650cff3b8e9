import Glibc
import Testing

@testable import HTTP

@Suite struct InputWindowTests {
    private func fill(_ window: inout InputWindow, _ text: String) {
        window.room.copyBytes(from: text.utf8)
        window.end += text.utf8.count
    }

    @Test("What is left in the lent block moves to a block of its own that fits it")
    func movesOut() {
        var pool = BufferPool()
        let scratch = BufferPool.allocate(4096)
        defer { BufferPool.free(scratch) }
        var window = InputWindow()
        window.lend(scratch)
        fill(&window, "used up, and left")
        window.start += 13
        window.settle(wantedCapacity: 0, to: &pool)
        #expect(!window.isLent)
        #expect(window.block?.capacity == 1024)
        #expect(window.unread.elementsEqual("left".utf8))
        window.discard(to: &pool)
        #expect(window.block == nil)
    }

    @Test("Nothing is left of a window that is used up")
    func settlesToNothing() {
        var pool = BufferPool()
        let scratch = BufferPool.allocate(4096)
        defer { BufferPool.free(scratch) }
        var window = InputWindow()
        window.lend(scratch)
        fill(&window, "request")
        window.start = window.end
        window.settle(wantedCapacity: 100_000, to: &pool)
        #expect(window.block == nil)
        #expect(window.room.isEmpty)
    }

    @Test("A body grows without losing a byte, and room is made by moving where that is enough")
    func grows() {
        var pool = BufferPool()
        let scratch = BufferPool.allocate(16)
        defer { BufferPool.free(scratch) }
        var window = InputWindow()
        window.lend(scratch)
        fill(&window, "head;body1")
        window.start = 5
        window.beginBody()
        window.start = window.end
        window.bodyEnd = window.end
        window.makeRoom(wantedCapacity: 16, from: &pool)
        #expect(window.isLent)
        #expect(window.body.elementsEqual("body1".utf8))
        fill(&window, "-and-body2!")
        #expect(window.room.isEmpty)
        window.start = window.end
        window.bodyEnd = window.end
        window.makeRoom(wantedCapacity: 32, from: &pool)
        #expect(!window.isLent)
        #expect(window.room.count == 1024 - 16)
        #expect(window.body.elementsEqual("body1-and-body2!".utf8))
        window.discard(to: &pool)
    }

    @Test("Blocks are used again, and bytes behind their end may be read")
    func pool() {
        var pool = BufferPool(keptBytesMax: 4096)
        let block = pool.take(atLeast: 1500)
        #expect(block.capacity == 2048)
        block.memory.storeBytes(of: 1, toByteOffset: 2048 + 63, as: UInt8.self)
        pool.giveBack(block)
        let again = pool.take(atLeast: 2048)
        #expect(again.memory == block.memory)
        let large = pool.take(atLeast: 3 << 20)
        #expect(large.capacity == 3 << 20)
        pool.giveBack(large)
        pool.giveBack(again)
        // The bound is reached: this one goes back to the allocator.
        pool.giveBack(BufferPool.allocate(4096))
        #expect(pool.take(atLeast: 1025).memory == block.memory)
        BufferPool.free(block)
    }
}

/// A body that is wiped, wherever it was.
@Suite struct SecretBodyTests {
    private static let secret = "canary-secret"

    private func fill(_ window: inout InputWindow, _ text: String) {
        window.room.copyBytes(from: text.utf8)
        window.end += text.utf8.count
    }

    private func isClean(_ block: BufferPool.Block) -> Bool {
        let memory = UnsafeRawBufferPointer(start: block.memory, count: block.capacity)
        return !String(decoding: memory, as: UTF8.self).contains("canary")
    }

    private func blocks() -> (first: BufferPool.Block, second: BufferPool.Block) {
        let both = (BufferPool.allocate(4096), BufferPool.allocate(4096))
        for block in [both.0, both.1] {
            memset(block.memory, 0, block.capacity + BufferPool.spareBytes)
        }
        return both
    }

    @Test("It is gone when it was handled, and the next request is not", arguments: [true, false])
    func handled(isSecret: Bool) {
        let (block, other) = blocks()
        defer { [block, other].forEach(BufferPool.free) }
        var window = InputWindow()
        window.lend(block)
        fill(&window, "head" + Self.secret + "next")
        window.start = 4
        window.beginBody(isSecret: isSecret)
        window.bodyEnd = 4 + Self.secret.utf8.count
        window.start = window.bodyEnd
        #expect(window.body.elementsEqual(Self.secret.utf8))
        window.endBody()
        #expect(isClean(block) == isSecret)
        #expect(window.unread.elementsEqual("next".utf8))
    }

    @Test("Moving on leaves nothing behind, to another block or within one")
    func moved() {
        let (block, other) = blocks()
        defer { [block, other].forEach(BufferPool.free) }
        var pool = BufferPool()
        // New memory may hold what another test left there.
        let spare = BufferPool.allocate(2048)
        memset(spare.memory, 0, spare.capacity)
        pool.giveBack(spare)
        var window = InputWindow()
        window.lend(block)
        fill(&window, "head" + Self.secret)
        window.start = 4
        window.beginBody(isSecret: true)
        window.bodyEnd = window.end
        window.start = window.end
        window.settle(wantedCapacity: 2000, to: &pool)
        #expect(isClean(block))
        #expect(window.body.elementsEqual(Self.secret.utf8))
        window.discard(to: &pool)
        let again = pool.take(atLeast: 2000)
        defer { BufferPool.free(again) }
        #expect(isClean(again))

        var second = InputWindow()
        second.lend(other)
        fill(&second, String(repeating: "h", count: 4096 - Self.secret.utf8.count) + Self.secret)
        second.start = 4096 - Self.secret.utf8.count
        second.beginBody(isSecret: true)
        second.bodyEnd = second.end
        second.start = second.end
        second.makeRoom(wantedCapacity: 4096, from: &pool)
        #expect(second.body.elementsEqual(Self.secret.utf8))
        second.endBody()
        #expect(isClean(other))
    }
}
