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
        for stream in everyStream where stream.waitingRows > 0 {
            let ageMax = stream.destination.rules.ageMax ?? configuration.ageMax
            guard stream.oldest + ageMax <= time else { continue }
            guard left > 0 else { break }
            let logs = try drop(from: stream, &left) { begin($0) + ageMax <= time }
            if logs > 0 { expired[stream.key.destination, default: 0] += logs }
        }
        return expired
    }

    /// Removes waiting rows from the stream's front for as long as `isDue` says so, `left` at most, and counts
    /// them as expired. Returns the number of their logs.
    func drop(
        from stream: QueuedStream,
        _ left: inout Int,
        while isDue: (RowRecord) -> Bool
    ) throws(SQLiteError) -> Int {
        var gone: [RowRecord] = []
        var next: RowRecord?
        let rowsMax = left
        try database.rows(of: stream.id, after: stream.sealedThrough) { row in
            guard gone.count < rowsMax, isDue(row) else {
                next = row
                return false
            }
            gone.append(row)
            return true
        }
        guard next != nil || gone.count == stream.waitingRows else {
            throw .damage(
                "\(stream.waitingRows) rows of stream \(stream.id) wait, \(gone.count) are there"
            )
        }
        if let next { stream.oldest = min(begin(next), now()) }
        guard let first = gone.first, let last = gone.last else { return 0 }
        left -= gone.count
        try database.write()
        let removed = try database.removeRows(of: stream.id, first.id...last.id)
        guard removed == gone.count else {
            throw .damage(
                "\(removed) of \(gone.count) rows of stream \(stream.id) could be removed"
            )
        }
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
