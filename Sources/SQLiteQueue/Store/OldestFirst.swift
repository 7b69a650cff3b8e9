import System

/// The streams of a destination by the age of their oldest waiting row. It exists while an overflow drops
/// rows; each stream stands in it at most once.
struct OldestFirst {
    private var queue = PriorityQueue<WallTime, QueuedStream>()

    /// Files a stream when something waits in it. What changes later is put right at the front.
    mutating func insert(_ stream: QueuedStream) {
        guard stream.waitingRows > 0, !stream.isListed else { return }
        stream.isListed = true
        queue.add(stream, at: stream.oldest)
    }

    mutating func popFirst() -> QueuedStream? {
        guard nextOldest() != nil, let stream = queue.takeFirst()?.element else { return nil }
        stream.isListed = false
        return stream
    }

    /// How old the first one's oldest row is.
    mutating func nextOldest() -> WallTime? {
        while let (due, stream) = queue.first {
            guard stream.waitingRows == 0 || stream.oldest != due else { return due }
            _ = queue.takeFirst()
            stream.isListed = false
            insert(stream)
        }
        return nil
    }

    /// Must be called before it is thrown away.
    mutating func dissolve() {
        while let (_, stream) = queue.takeFirst() { stream.isListed = false }
    }
}
