import System

extension OpenStore {
    /// Lets the oldest waiting logs make room where the rule is `drop_oldest`, if more came than there was room
    /// for. They count as expired.
    ///
    /// A destination pays for its own bound alone. For the queue's the one pays that has most waiting: whoever
    /// floods the queue so pays for that himself, and who sends little keeps what he has.
    ///
    /// A transaction drops a bounded number of rows, so that one after a bound was lowered does not take long;
    /// but always more than came. `needsRoom` tells when there is more to do.
    func makeRoom(rowsAdded: Int) throws(SQLiteError) {
        var left = 2 * rowsAdded + Self.droppedRowsMax
        for destination in destinations.values where destination.rules.overflow == .dropOldest {
            guard let most = destination.rules.bytesMax else { continue }
            while destination.bytes > most, left > 0,
                try dropOldest(of: destination, bytes: destination.bytes - most, &left)
            {}
        }
        while bytes > configuration.bytesMax, left > 0, let (destination, lead) = mostWaiting() {
            let excess = bytes - configuration.bytesMax
            guard try dropOldest(of: destination, bytes: min(excess, lead), &left) else { break }
        }
        needsRoom = left <= 0
    }

    private static let droppedRowsMax = 10_000

    /// What could be dropped for the queue's bound.
    var droppableBytes: Int {
        destinations.values.reduce(0) { sum, destination in
            destination.rules.overflow == .dropOldest ? sum + destination.waitingBytes : sum
        }
    }

    /// The destination that has most to drop, and how much more than the next one; something at least.
    private func mostWaiting() -> (QueuedDestination, lead: Int)? {
        var first: QueuedDestination?
        var second = 0
        for destination in destinations.values
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
    /// bytes. False when nothing waits.
    private func dropOldest(
        of destination: QueuedDestination,
        bytes wanted: Int,
        _ left: inout Int
    ) throws(SQLiteError) -> Bool {
        if destination.oldestFirst == nil {
            destination.oldestFirst = OldestFirst()
            for stream in everyStream where stream.destination === destination {
                destination.oldestFirst?.insert(stream)
            }
        }
        guard let stream = destination.oldestFirst?.popFirst() else { return false }
        let next = destination.oldestFirst?.nextOldest() ?? WallTime(nanoseconds: .max)
        var wanted = wanted
        var isFirst = true
        let logs = try drop(from: stream, &left) { row in
            defer {
                isFirst = false
                wanted -= row.size + Self.rowOverhead
            }
            return isFirst || (wanted > 0 && begin(row) <= next)
        }
        destination.oldestFirst?.insert(stream)
        destination.hasDropped = true
        dropped[destination.name, default: 0] += logs
        return true
    }

    /// Once in a while: what is not needed any more would hold on to streams that are forgotten.
    func forgetOldest() {
        for destination in destinations.values {
            if !destination.hasDropped {
                destination.oldestFirst?.dissolve()
                destination.oldestFirst = nil
            }
            destination.hasDropped = false
        }
    }
}
