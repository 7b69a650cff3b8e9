import Queue
import System

/// The first of many streams in an order, in bounded memory: a heap with the last of them on top.
struct TopStreams {
    struct Candidate {
        let stream: QueuedStream
        private let sum: SealedSum
        /// A smaller rank comes first.
        private let rank: Int64

        /// Nil if nothing waits in any generation of the key. `newest` is the newest of them.
        init?(_ newest: QueuedStream, _ sealed: [Int64: SealedSum], _ order: StreamWish.Order) {
            var sum = SealedSum()
            var next: QueuedStream? = newest
            while let stream = next {
                if !stream.waiting.isEmpty {
                    sum.logs += stream.waiting.logs
                    sum.raw += stream.waiting.raw
                    sum.oldest = min(sum.oldest, stream.waiting.oldest)
                }
                if stream.packetCount > 0, let packets = sealed[stream.id] {
                    sum.logs += packets.logs
                    sum.raw += packets.raw
                    sum.packets += packets.packets
                    sum.oldest = min(sum.oldest, packets.oldest)
                }
                next = stream.earlier
            }
            guard sum.logs > 0 else { return nil }
            stream = newest
            self.sum = sum
            rank =
                switch order {
                case .oldest: sum.oldest.nanoseconds
                case .largest: -Int64(sum.raw)
                }
        }

        /// Among equals the older stream comes first.
        static func < (left: Candidate, right: Candidate) -> Bool {
            (left.rank, left.stream.id) < (right.rank, right.stream.id)
        }

        var entry: StreamListing.Entry {
            StreamListing.Entry(
                stream: stream.key,
                logs: sum.logs,
                rawBytes: sum.raw,
                packets: sum.packets,
                oldest: sum.oldest
            )
        }
    }

    private let countMax: Int
    private var heap: [Candidate] = []
    private var offered = 0

    init(countMax: Int) {
        self.countMax = countMax
    }

    mutating func offer(_ candidate: Candidate) {
        offered += 1
        if heap.count < countMax {
            heap.append(candidate)
            rise()
        } else if let last = heap.first, candidate < last {
            heap[0] = candidate
            sink()
        }
    }

    var listed: StreamListing.Destination {
        StreamListing.Destination(
            entries: heap.sorted { $0 < $1 }.map(\.entry),
            more: offered - heap.count
        )
    }

    private mutating func rise() {
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[parent] < heap[child] else { return }
            heap.swapAt(parent, child)
            child = parent
        }
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var last = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[last] < heap[child] {
                last = child
            }
            guard last != parent else { return }
            heap.swapAt(parent, last)
            parent = last
        }
    }
}
