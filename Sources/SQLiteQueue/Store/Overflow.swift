import Queue
import SQLite
import System

/// Drops the oldest waiting logs where they make room for new ones.
final class Overflow: StorePart {
    let context: StoreContext
    private let ages: AgeBook
    private let weight: QueueWeight
    private let destinations: DestinationBook
    private let streams: StreamBook
    private let waiting: WaitingRows
    /// Logs that were dropped since this was last looked at.
    private var dropped: [Overflowed: Int] = [:]
    /// A bound is exceeded, and more could be dropped.
    private(set) var needsRoom = false

    init(
        _ destinations: DestinationBook,
        _ streams: StreamBook,
        _ waiting: WaitingRows,
        _ ages: AgeBook,
        _ weight: QueueWeight
    ) {
        context = ages.context
        self.ages = ages
        self.weight = weight
        self.destinations = destinations
        self.streams = streams
        self.waiting = waiting
    }

    /// Lets the oldest waiting logs make room where the rule is `drop_oldest`, if more came than there was room
    /// for. They count as expired.
    ///
    /// A destination pays for its own bound alone. For the queue's bound the destination with the most waiting bytes
    /// pays: one that floods the queue pays for that itself, and one that gets little keeps what it has.
    ///
    /// Nothing is dropped where that does not help, because dead letters and packets alone exceed the bound.
    ///
    /// A transaction drops for a bounded time, so that one after a bound was lowered does not take long; but
    /// always more than came. `needsRoom` tells when there is more to do.
    func makeRoom(rowsAdded: Int) throws(SQLiteError) {
        var effort = DropEffort(least: 2 * rowsAdded + 1)
        // What did not change is within its bound, unless the turn before could not drop enough.
        let candidates = needsRoom ? Array(destinations.all) : destinations.dirty.changed
        for destination in candidates where destination.rules.overflow == .dropOldest {
            guard let most = destination.rules.bytesMax,
                destination.bytes - destination.waitingBytes <= most
            else { continue }
            while destination.bytes > most, effort.mayGoOn(),
                try dropOldest(of: destination, bytes: destination.bytes - most, &effort, own: true)
            {}
        }
        if weight.droppableExcess != nil {
            while weight.bytes > configuration.bytesMax, effort.mayGoOn(),
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

    /// The destination that has most to drop, and how much more than the next one; something at least.
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

    /// Drops rows of the stream that has the oldest, for as long as they are the oldest, until they have so many
    /// bytes or are many. False when nothing waits.
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
        destination.hasDropped = true
        effort.dropped += DropEffort.rowsAtATime - left
        dropped[Overflowed(of: destination.name, isOwnBound: isOwnBound), default: 0] += logs
        return true
    }

    /// Once in a while: what is not needed any more would hold on to streams that are forgotten.
    func forgetOldest() {
        for destination in destinations.all {
            if !destination.hasDropped {
                destination.oldestFirst?.dissolve()
                destination.oldestFirst = nil
            }
            destination.hasDropped = false
        }
    }

    /// Logs that were dropped since this was last asked.
    func takeDropped() -> [Overflowed: Int] {
        defer { dropped.removeAll(keepingCapacity: true) }
        return dropped
    }
}

/// Whose logs an overflow dropped, and for which bound: its own or the queue's.
struct Overflowed: Hashable {
    let destination: String
    let isOwnBound: Bool

    init(of destination: String, isOwnBound: Bool) {
        self.destination = destination
        self.isOwnBound = isOwnBound
    }
}

/// How many rows a transaction drops: so many at least, and more while it is quick.
private struct DropEffort {
    /// Between two looks at the time.
    static let rowsAtATime = 256
    private static let time = Duration.milliseconds(8)

    private let least: Int
    private let deadline = Moment.now + time
    var dropped = 0
    private(set) var isOver = false

    init(least: Int) {
        self.least = least
    }

    mutating func mayGoOn() -> Bool {
        isOver = dropped >= least && Moment.now >= deadline
        return !isOver
    }
}
