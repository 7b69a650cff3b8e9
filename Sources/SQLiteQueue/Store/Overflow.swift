import Queue
import SQLite
import System

/// Drops the oldest waiting logs to make room for new ones.
final class Overflow: StreamPart {
    let streams: StreamBook
    private let waiting: WaitingRows
    private var dropped: [Overflowed: Int] = [:]
    /// True if a bound is exceeded and more could be dropped.
    private(set) var needsRoom = false

    init(_ waiting: WaitingRows) {
        streams = waiting.streams
        self.waiting = waiting
    }

    /// Drops the oldest waiting logs under the rule `drop_oldest`, if more logs came than there was
    /// room for. The dropped logs count as expired.
    ///
    /// A destination pays only for its own bound. For the queue's bound the destination with the
    /// most waiting bytes pays, so one that gets little keeps its logs. If dead letters and packets
    /// alone exceed the bound, dropping does not help, and nothing is dropped.
    ///
    /// A transaction drops for a bounded time, so it is short even after a lowered bound, but it
    /// drops more than came. `needsRoom` tells if there is more to do.
    func makeRoom(rowsAdded: Int) throws(SQLiteError) {
        var effort = DropEffort(least: 2 * rowsAdded + 1)
        // An unchanged destination is within its bound, unless the last turn could not drop enough.
        let candidates = needsRoom ? Array(destinations.all) : destinations.dirty.changed
        for destination in candidates where destination.rules.overflow == .dropOldest {
            guard let most = destination.rules.bytesMax,
                destination.bytes - destination.waitingBytes <= most
            else { continue }
            while destination.bytes > most, effort.checkTime(),
                try dropOldest(of: destination, bytes: destination.bytes - most, &effort, own: true)
            {}
        }
        if weight.droppableExcess != nil {
            while weight.bytes > configuration.bytesMax, effort.checkTime(),
                let (destination, lead) = mostWaiting()
            {
                let wanted = min(weight.bytes - configuration.bytesMax, lead)
                guard try dropOldest(of: destination, bytes: wanted, &effort, own: false) else {
                    break
                }
            }
        }
        needsRoom = effort.isOver
    }

    /// The destination with the most bytes to drop, and its lead over the second one, above 0.
    private func mostWaiting() -> (QueuedDestination, lead: Int)? {
        var first: QueuedDestination?
        var second = 0
        for destination in destinations.all
        where destination.rules.overflow == .dropOldest && destination.waitingBytes > 0 {
            if destination.waitingBytes > first?.waitingBytes ?? 0 {
                second = first?.waitingBytes ?? 0
                first = destination
            } else {
                second = max(second, destination.waitingBytes)
            }
        }
        guard let first else { return nil }
        return (first, max(first.waitingBytes - second, configuration.tuning.rowBytes))
    }

    /// Drops rows of the stream with the oldest row while its rows are the oldest, until they have
    /// the wanted bytes or are many. Returns false if nothing waits.
    private func dropOldest(
        of destination: QueuedDestination,
        bytes wanted: Int,
        _ effort: inout DropEffort,
        own isOwnBound: Bool
    ) throws(SQLiteError) -> Bool {
        if destination.oldestFirst == nil {
            destination.oldestFirst = OldestFirst()
            for stream in streams.every where stream.destination === destination {
                destination.oldestFirst?.insert(stream)
            }
        }
        guard let stream = destination.oldestFirst?.popFirst() else { return false }
        let next = destination.oldestFirst?.nextOldest() ?? WallTime(nanoseconds: .max)
        var wanted = wanted
        var isFirst = true
        var left = DropEffort.rowsAtATime
        let logs = try waiting.drop(from: stream, &left) { row in
            defer {
                isFirst = false
                wanted -= row.size + RowRecord.overhead
            }
            return isFirst || (wanted > 0 && ages.begin(row) <= next)
        }
        destination.oldestFirst?.insert(stream)
        destination.oldestFirst?.hasDropped = true
        effort.dropped += DropEffort.rowsAtATime - left
        dropped[Overflowed(of: destination.name, isOwnBound: isOwnBound), default: 0] += logs
        return true
    }

    /// Releases unused lists now and then: they would keep removed streams alive.
    func releaseUnusedLists() {
        for destination in destinations.all {
            if destination.oldestFirst?.hasDropped == true {
                destination.oldestFirst?.hasDropped = false
            } else {
                destination.oldestFirst?.dissolve()
                destination.oldestFirst = nil
            }
        }
    }

    func takeDropped() -> [Overflowed: Int] {
        defer { dropped.removeAll(keepingCapacity: true) }
        return dropped
    }
}

/// The destination of dropped logs, and the bound that caused it: its own or the queue's.
struct Overflowed: Hashable {
    let destination: String
    let isOwnBound: Bool

    init(of destination: String, isOwnBound: Bool) {
        self.destination = destination
        self.isOwnBound = isOwnBound
    }
}

/// The number of rows that a transaction may drop: at least `least`, and more while there is time.
private struct DropEffort {
    static let rowsAtATime = 256
    private static let time = Duration.milliseconds(8)

    private let least: Int
    private let deadline = Moment.now + time
    var dropped = 0
    private(set) var isOver = false

    init(least: Int) {
        self.least = least
    }

    mutating func checkTime() -> Bool {
        isOver = dropped >= least && Moment.now >= deadline
        return !isOver
    }
}

/// The streams of a destination by their oldest waiting row, while an overflow drops rows. Each
/// stream has at most one entry.
struct OldestFirst {
    private var queue = PriorityQueue<WallTime, QueuedStream>()
    /// True if an overflow used the list since the last look of `Overflow.releaseUnusedLists`.
    var hasDropped = false

    /// Adds a stream in which rows wait. `nextOldest` corrects later changes at the front.
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
