import Glibc

/// A request body that owns its memory, so that a handler may read it on another thread.
final class DetachedBody: Sendable {
    /// Read-only after the initialiser; freed with the last reference.
    private nonisolated(unsafe) let block: UnsafeMutableRawPointer
    private let range: Range<Int>
    /// The block's capacity, which is the body's cost in memory.
    let capacity: Int

    /// Takes ownership of the block.
    init(_ block: BufferPool.Block, _ range: Range<Int>) {
        self.block = block.memory
        self.range = range
        capacity = block.capacity
    }

    deinit { free(block) }

    /// The 64 bytes after its end may be read, as `RequestHandler.handle` promises. Valid while this object lives.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: block + range.lowerBound, count: range.count)
    }
}
