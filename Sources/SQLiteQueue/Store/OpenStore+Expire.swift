import Queue
import SQLite
import System

extension OpenStore {
    /// Looks for streams and packets with rows that are older than the operator allows, unless some are known that
    /// are not done with. It walks all of them.
    func lookForExpired() {
        guard knowsTime, expiring.isEmpty else { return }
        let time = now()
        expiringPackets = packets.values.filter { isExpired($0, time) }.map(\.record.number)
        expiring = everyStream.filter { stream in
            stream.waitingRows > 0 && stream.oldest + ageMax(of: stream.destination) <= time
        }
    }

    func ageMax(of destination: QueuedDestination) -> Duration {
        destination.rules.ageMax ?? configuration.ageMax
    }

    /// Drops such rows until there are none or the time is over, and counts them as expired. Returns the logs by
    /// destination.
    func expire(until deadline: Moment) throws(SQLiteError) -> [String: Int] {
        let time = now()
        var expired: [String: Int] = [:]
        while let stream = expiring.last, Moment.now < deadline {
            // Its last row may have left since, and it with that: then nothing else of it may be asked.
            guard stream.waitingRows > 0 else {
                expiring.removeLast()
                continue
            }
            let ageMax = ageMax(of: stream.destination)
            var rows = Self.expiredRowsMax
            var bytes = 0
            let logs = try drop(from: stream, &rows) { row in
                defer { bytes += row.size }
                return bytes < Self.expiredBytesMax && begin(row) + ageMax <= time
            }
            if logs > 0 { expired[stream.key.destination, default: 0] += logs }
            if stream.waitingRows == 0 || stream.oldest + ageMax > time { expiring.removeLast() }
        }
        return expired
    }

    /// Between two looks at the time.
    private static let expiredRowsMax = 256
    private static let expiredBytesMax = 2 << 20

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
        guard !gone.isEmpty else { return 0 }
        left -= gone.count
        let (logs, raw) = try removeWaiting(gone, of: stream)
        stream.destination.change { ledger in
            ledger.expired += Int64(logs)
            ledger.queued -= Int64(logs)
        }
        stream.destination.volumes.expired += raw
        try rest(stream)
        return logs
    }

    /// Removes waiting rows that follow each other. Returns their logs and bytes, which the caller counts.
    func removeWaiting(
        _ gone: [RowRecord],
        of stream: QueuedStream
    ) throws(SQLiteError) -> (logs: Int, raw: Int) {
        guard let first = gone.first, let last = gone.last else { return (0, 0) }
        try database.write()
        let removed = try database.removeRows(of: stream.id, first.id...last.id)
        guard removed == gone.count else {
            throw .damage(
                "\(removed) of \(gone.count) rows of stream \(stream.id) could be removed"
            )
        }
        let logs = gone.reduce(0) { $0 + $1.logs }
        let raw = gone.reduce(0) { $0 + $1.raw }
        stream.waitingRows -= gone.count
        stream.waitingLogs -= logs
        stream.waitingRaw -= raw
        for row in gone { recent.remove(row.id) }
        weighWaiting(
            stream.destination,
            bytes: -gone.reduce(0) { $0 + $1.size + RowRecord.overhead },
            rows: -gone.count
        )
        // The rows that a flush was for are gone.
        if stream.waitingRows == 0 { stream.flushThrough = 0 }
        scheduleNext(after: stream, now())
        return (logs, raw)
    }
}
