import System

extension OpenStore {
    /// Drops waiting rows that are older than the operator allows, a bounded number at a time, and
    /// counts them as expired. Sealed packets are with delivery and stay. Returns the logs by
    /// destination.
    func expire(atMost rowsMax: Int = 10_000) throws(SQLiteError) -> [String: Int] {
        guard knowsTime else { return [:] }
        let time = now()
        var expired: [String: Int] = [:]
        var left = rowsMax
        for stream in streams.values
        where stream.waitingRows > 0 && stream.oldest + configuration.ageMax <= time {
            guard left > 0 else { break }
            let logs = try expire(stream, time, &left)
            if logs > 0 { expired[stream.key.destination, default: 0] += logs }
        }
        return expired
    }

    private func expire(
        _ stream: QueuedStream,
        _ time: WallTime,
        _ left: inout Int
    ) throws(SQLiteError) -> Int {
        var gone: [RowRecord] = []
        var next: RowRecord?
        let rowsMax = left
        try database.rows(of: stream.id, after: stream.sealedThrough) { row in
            guard gone.count < rowsMax, begin(row) + configuration.ageMax <= time else {
                next = row
                return false
            }
            gone.append(row)
            return true
        }
        if let next { stream.oldest = min(begin(next), time) }
        guard let first = gone.first, let last = gone.last else { return 0 }
        left -= gone.count
        try database.write()
        try database.removeRows(of: stream.id, first.id...last.id)
        let logs = gone.reduce(0) { $0 + $1.logs }
        stream.waitingRows -= gone.count
        stream.waitingLogs -= logs
        stream.waitingRaw -= gone.reduce(0) { $0 + $1.raw }
        for row in gone { recent.remove(row.id) }
        weighWaiting(
            stream.destination,
            bytes: -gone.reduce(0) { $0 + $1.size + Self.rowOverhead },
            rows: -gone.count
        )
        stream.destination.change { ledger in
            ledger.expired += Int64(logs)
            ledger.queued -= Int64(logs)
        }
        // What a flush was for is gone.
        if stream.waitingRows == 0 { stream.flushThrough = 0 }
        try rest(stream)
        return logs
    }
}
