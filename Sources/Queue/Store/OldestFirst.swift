import System

/// The streams of a destination by the age of their oldest waiting row. It exists while an overflow drops
/// rows; each stream stands in it at most once.
struct OldestFirst {
    private var heap = AgeHeap()

    /// Files a stream when something waits in it. What changes later is put right at the front.
    mutating func insert(_ stream: QueuedStream) {
        guard stream.waitingRows > 0, !stream.isListed else { return }
        stream.isListed = true
        heap.insert(stream, due: stream.oldest)
    }

    mutating func popFirst() -> QueuedStream? {
        guard nextOldest() != nil else { return nil }
        let stream = heap.removeFirst()
        stream.isListed = false
        return stream
    }

    /// How old the first one's oldest row is.
    mutating func nextOldest() -> WallTime? {
        while let first = heap.first {
            let isRight = first.stream.waitingRows > 0 && first.stream.oldest == first.due
            guard !isRight else { return first.due }
            let stream = heap.removeFirst()
            stream.isListed = false
            insert(stream)
        }
        return nil
    }

    /// Must be called before it is thrown away.
    mutating func dissolve() {
        while heap.first != nil { heap.removeFirst().isListed = false }
    }
}
