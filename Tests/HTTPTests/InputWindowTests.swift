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
