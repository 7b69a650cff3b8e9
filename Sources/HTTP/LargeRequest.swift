import Glibc
import Net
import Synchronization
import System

/// A request that waits for a worker thread.
final class LargeRequest: Sendable {
    /// Tells the worker that the client's connection is closed.
    final class Abandonment: Sendable {
        private let flag = Atomic<Bool>(false)

        var isSet: Bool { flag.load(ordering: .relaxed) }

        func set() { flag.store(true, ordering: .relaxed) }
    }

    let head: RequestHead
    let admitted: RequestHandler.Admitted?
    let body: DetachedBody
    let responder: Responder
    /// nil for a proxy, which stands for many clients.
    let neighbourhood: Neighbourhood?
    /// The estimated work: an upper bound of the content's bytes.
    let cost: Int
    let arrival = Moment.now
    let abandonment = Abandonment()

    init(
        _ head: RequestHead,
        _ admitted: RequestHandler.Admitted?,
        _ body: DetachedBody,
        cost: Int,
        _ neighbourhood: Neighbourhood?,
        _ responder: Responder
    ) {
        self.head = head
        self.admitted = admitted
        self.body = body
        self.cost = cost
        self.neighbourhood = neighbourhood
        self.responder = responder
    }

    /// The memory that it holds while it waits.
    var heldBytes: Int { body.capacity + head.heldBytes }
}

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

    /// The 64 bytes after its end may be read, as `RequestHandler.handle` promises. Valid while
    /// this object lives.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: block + range.lowerBound, count: range.count)
    }
}
