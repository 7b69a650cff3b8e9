import System

extension OpenStore {
    /// Lets the oldest waiting logs of the destinations make room, where their rule is `drop_oldest`, if more
    /// came than there was room for. They count as expired.
    ///
    /// A transaction drops a bounded number of rows, so that one after a bound was lowered does not take long;
    /// but always more than came.
    func makeRoom(
        in destinations: [QueuedDestination],
        rowsAdded: Int
    ) throws(SQLiteError) {
        var left = 2 * rowsAdded + 10_000
        for destination in destinations where destination.rules.overflow == .dropOldest {
            while excess(destination) > 0, left > 0,
                let logs = try dropOldest(of: destination, &left)
            {
                destination.hasDropped = true
                dropped[destination.name, default: 0] += logs
            }
        }
    }

    private func excess(_ destination: QueuedDestination) -> Int {
        let own = destination.rules.bytesMax.map { destination.bytes - $0 } ?? 0
        return max(own, bytes - configuration.bytesMax)
    }

    /// Drops rows of the stream that has the oldest, for as long as they are the oldest. Returns the number of
    /// logs, nil when nothing waits.
    private func dropOldest(
        of destination: QueuedDestination,
        _ left: inout Int
    ) throws(SQLiteError) -> Int? {
        if destination.oldestFirst == nil {
            destination.oldestFirst = OldestFirst()
            for stream in streams.values where stream.destination === destination {
                destination.oldestFirst?.insert(stream)
            }
        }
        guard let stream = destination.oldestFirst?.popFirst() else { return nil }
        let next = destination.oldestFirst?.nextOldest() ?? WallTime(nanoseconds: .max)
        var excess = excess(destination)
        var isFirst = true
        let logs = try drop(from: stream, &left) { row in
            defer {
                isFirst = false
                excess -= row.size + Self.rowOverhead
            }
            return isFirst || (excess > 0 && begin(row) <= next)
        }
        destination.oldestFirst?.insert(stream)
        return logs
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
