import System

/// The streams of a destination by the age of their oldest waiting row. It exists while an overflow
/// drops rows. Each stream has at most one entry.
struct OldestFirst {
    private var queue = PriorityQueue<WallTime, QueuedStream>()
    /// True if an overflow used the list since the last look of `Overflow.releaseUnusedLists`.
    var hasDropped = false

    /// Adds a stream in which rows wait. `nextOldest` corrects later changes when the stream is at
    /// the front.
    mutating func insert(_ stream: QueuedStream) {
        guard !stream.waiting.isEmpty, !stream.isIn(.oldestFirst) else { return }
        stream.enter(.oldestFirst)
        queue.add(stream, at: stream.waiting.oldest)
    }

    mutating func popFirst() -> QueuedStream? {
        guard nextOldest() != nil, let stream = queue.takeFirst()?.element else { return nil }
        stream.leave(.oldestFirst)
        return stream
    }

    /// The age of the first stream's oldest row.
    mutating func nextOldest() -> WallTime? {
        while let (due, stream) = queue.first {
            guard stream.waiting.isEmpty || stream.waiting.oldest != due else { return due }
            _ = queue.takeFirst()
            stream.leave(.oldestFirst)
            insert(stream)
        }
        return nil
    }

    /// Must be called before the list is discarded.
    mutating func dissolve() {
        while let (_, stream) = queue.takeFirst() { stream.leave(.oldestFirst) }
    }
}
