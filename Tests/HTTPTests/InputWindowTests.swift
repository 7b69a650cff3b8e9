import Glibc
import Testing

@testable import HTTP

@Suite struct InputWindowTests {
    /// A window over a block that is lent for this turn.
    private func makeWindow(over block: BufferPool.Block, _ text: String) -> InputWindow {
        var window = InputWindow()
        window.lend(block)
        fill(&window, text)
        return window
    }

    private func fill(_ window: inout InputWindow, _ text: String) {
        window.room.copyBytes(from: text.utf8)
        window.end += text.utf8.count
    }

    @Test("At the end of a turn, bytes in the lent block move to a block that fits them")
    func movesOut() {
        var pool = BufferPool()
        let scratch = BufferPool.allocate(4096)
        defer { BufferPool.free(scratch) }
        var window = makeWindow(over: scratch, "used up, and left")
        window.start += 13
        window.endTurn(wantedCapacity: 0, to: &pool)
        #expect(!window.isLent)
        #expect(window.block?.capacity == 1024)
        #expect(window.unread.elementsEqual("left".utf8))
        window.discard(to: &pool)
        #expect(window.block == nil)
    }

    @Test("A consumed window gives back its block")
    func settlesToNothing() {
        var pool = BufferPool()
        let scratch = BufferPool.allocate(4096)
        defer { BufferPool.free(scratch) }
        var window = makeWindow(over: scratch, "request")
        window.start = window.end
        window.endTurn(wantedCapacity: 100_000, to: &pool)
        #expect(window.block == nil)
        #expect(window.room.isEmpty)
    }

    @Test("A growing body keeps its bytes, and moves to the front before it gets a larger block")
    func grows() {
        var pool = BufferPool()
        let scratch = BufferPool.allocate(16)
        defer { BufferPool.free(scratch) }
        var window = makeWindow(over: scratch, "head;body1")
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

    @Test("Blocks are reused, and the spare bytes behind their end are readable")
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

    // MARK: - A body that is wiped, wherever it was

    private static let secret = "canary-secret"

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

    @Test(
        "A secret body is wiped after its request, and the next request is kept",
        arguments: [true, false]
    )
    func handled(isSecret: Bool) {
        let (block, other) = blocks()
        defer { [block, other].forEach(BufferPool.free) }
        var window = makeWindow(over: block, "head" + Self.secret + "next")
        window.start = 4
        window.beginBody(isSecret: isSecret)
        window.bodyEnd = 4 + Self.secret.utf8.count
        window.start = window.bodyEnd
        #expect(window.body.elementsEqual(Self.secret.utf8))
        window.endBody()
        #expect(isClean(block) == isSecret)
        #expect(window.unread.elementsEqual("next".utf8))
    }

    @Test("Moving a secret body wipes its old place")
    func moved() {
        let (block, other) = blocks()
        defer { [block, other].forEach(BufferPool.free) }
        var pool = BufferPool()
        // New memory may hold what another test left there.
        let spare = BufferPool.allocate(2048)
        memset(spare.memory, 0, spare.capacity)
        pool.giveBack(spare)
        var window = makeWindow(over: block, "head" + Self.secret)
        window.start = 4
        window.beginBody(isSecret: true)
        window.bodyEnd = window.end
        window.start = window.end
        window.endTurn(wantedCapacity: 2000, to: &pool)
        #expect(isClean(block))
        #expect(window.body.elementsEqual(Self.secret.utf8))
        window.discard(to: &pool)
        let again = pool.take(atLeast: 2000)
        defer { BufferPool.free(again) }
        #expect(isClean(again))

        let before = 4096 - Self.secret.utf8.count
        var second = makeWindow(over: other, String(repeating: "h", count: before) + Self.secret)
        second.start = before
        second.beginBody(isSecret: true)
        second.bodyEnd = second.end
        second.start = second.end
        second.makeRoom(wantedCapacity: 4096, from: &pool)
        #expect(second.body.elementsEqual(Self.secret.utf8))
        second.endBody()
        #expect(isClean(other))
    }
}
