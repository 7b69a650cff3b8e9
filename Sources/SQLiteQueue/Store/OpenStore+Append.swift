import Logs
import Queue
import SQLite
import System

extension OpenStore {
    /// Takes the batches into the transaction at hand, or says why it cannot.
    func stage(
        _ batches: [Batch],
        by maker: StreamShares.Maker = .unknown,
        areReplayed: Bool = false
    ) throws(SQLiteError) -> QueueAdmission? {
        let batches = addressed(batches)
        let time = now()
        if let refusal = reserve(batches, by: maker, time) { return refusal }
        for batch in batches where batch.logs.count > 0 {
            let stream = try stream(batch.stream, by: maker, time)
            wake(stream, by: maker)
            if stream.staged.isEmpty { touched.append(stream) }
            stream.staged.append(batch.logs)
            if areReplayed { stream.stagedReplays += 1 }
        }
        for batch in batches where !batch.dead.isEmpty || batch.dropped > 0 { try forgo(batch) }
        return nil
    }

    private func stream(
        _ key: StreamKey,
        by maker: StreamShares.Maker,
        _ time: WallTime
    ) throws(SQLiteError) -> QueuedStream {
        if let known = taker(of: key, by: maker, time) { return known }
        try database.write()
        let record = StreamRecord(
            id: try ids.take(database),
            key: key,
            packPrefix: hex(randomBytes(8), upper: true),
            nextPack: 1
        )
        try database.add(record)
        let new = QueuedStream(record, outlet(key.outlet))
        enter(new)
        // Before one that was renamed, which may have nothing any more.
        if let before = new.earlier, before.isEmpty { try forget(before) }
        return new
    }

    /// Makes rows of what was staged: the batches of a stream share them, compressed together. Returns how many
    /// rows that were.
    @discardableResult
    func writeStaged() throws(SQLiteError) -> Int {
        guard !touched.isEmpty else { return 0 }
        try database.write()
        let time = now()
        let rowsBefore = rows
        for stream in touched {
            let limits = stream.destination.limits
            let packer = RowPacker(
                rawBytesMax: min(configuration.tuning.rowBytes, limits.rawBytes),
                logsMax: limits.logs
            )
            let batches = stream.staged
            // Batches of a stream share rows, so new logs beside them hide the replayed ones.
            let areReplayed = stream.stagedReplays == batches.count
            (stream.staged, stream.stagedReplays) = ([], 0)
            try packer.pack(batches, scratch: &joined) { raw, logs throws(SQLiteError) in
                try add(raw, logs: logs, to: stream, areReplayed: areReplayed, time)
            }
            stream.outlet.schedule(stream, time)
            stream.destination.oldestFirst?.insert(stream)
        }
        touched.removeAll(keepingCapacity: true)
        stagedBytes = 0
        for destination in dirty.changed { destination.stagedBytes = 0 }
        return rows - rowsBefore
    }

    private func add(
        _ raw: UnsafeRawBufferPointer,
        logs: Int,
        to stream: QueuedStream,
        areReplayed: Bool,
        _ time: WallTime
    ) throws(SQLiteError) {
        let payload = LZ4.compress(raw)
        let row = RowRecord(
            // A number for each log, so that a part of the row can be one at its place: see `halve`.
            id: try ids.take(database, count: max(logs, 1)),
            logs: logs,
            raw: raw.count,
            size: payload.count,
            received: time
        )
        try database.add(row, of: stream.id, payload)
        recent.keep(StoredBlock(compressed: payload, rawBytes: raw.count), row: row.id)

        if areReplayed {
            // Its parts may become rows under the numbers that it has for its logs.
            let end = row.id + Int64(max(logs, 1)) - 1
            stream.replayed.add(row.id...end, after: stream.lastRow)
        }
        if stream.waitingRows == 0 { stream.oldest = time }
        stream.lastRow = row.id
        stream.waitingRows += 1
        stream.waitingLogs += logs
        stream.waitingRaw += raw.count
        weighWaiting(stream.destination, bytes: row.size + RowRecord.overhead, rows: 1)
        stream.destination.change { ledger in
            ledger.accepted += Int64(logs)
            ledger.queued += Int64(logs)
        }
        stream.destination.volumes.accepted += raw.count
    }
}
