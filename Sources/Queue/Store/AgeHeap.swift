import System

/// Streams by the time at which they come of age. Each stands in it at most once, so it is never
/// larger than the number of streams; a stream whose rows left earlier is filed anew when its time comes.
struct AgeHeap {
    struct Entry {
        let due: WallTime
        let stream: QueuedStream
    }

    private var entries: [Entry] = []

    var first: Entry? { entries.first }
    var count: Int { entries.count }

    mutating func removeAll(where isUnwanted: (QueuedStream) -> Bool) {
        entries.removeAll { isUnwanted($0.stream) }
        // What is sorted is a heap.
        entries.sort { $0.due < $1.due }
    }

    mutating func insert(_ stream: QueuedStream, due: WallTime) {
        entries.append(Entry(due: due, stream: stream))
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].due < entries[parent].due else { return }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    /// The heap must not be empty.
    mutating func removeFirst() -> QueuedStream {
        entries.swapAt(0, entries.count - 1)
        let removed = entries.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < entries.count && entries[child].due < entries[least].due {
                least = child
            }
            guard least != parent else { return removed.stream }
            entries.swapAt(parent, least)
            parent = least
        }
    }
}
