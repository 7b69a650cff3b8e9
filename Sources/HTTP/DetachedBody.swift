import Glibc

/// A body with memory of its own, for a handler on another thread.
final class DetachedBody: Sendable {
    /// Nobody writes there any more, and it is freed when the last owner lets go.
    private nonisolated(unsafe) let block: UnsafeMutableRawPointer
    private let range: Range<Int>

    /// Takes the block.
    init(_ block: BufferPool.Block, _ range: Range<Int>) {
        self.block = block.memory
        self.range = range
    }

    deinit { free(block) }

    /// As `RequestHandler.handle` wants it: 64 bytes after its end may be read. Valid as long as this is held.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: block + range.lowerBound, count: range.count)
    }
}
