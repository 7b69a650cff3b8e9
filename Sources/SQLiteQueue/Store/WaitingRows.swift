import Queue
import SQLite
import System

/// The rows that wait in streams: rows of batches come, and some leave before they are sealed.
final class WaitingRows: StreamPart {
    let streams: StreamBook
    private let recent: RecentPayloads

    init(_ streams: StreamBook, _ recent: RecentPayloads) {
        self.streams = streams
        self.recent = recent
    }

    func add(
        _ packed: PackedRow,
        to stream: QueuedStream,
        replays: Int,
        _ time: WallTime
    ) throws(SQLiteError) -> Int64 {
        let (block, logs) = (packed.block, packed.logs)
        let row = RowRecord(
            // A number for each log: a part of the row can become a row at its place, see `halve`.
            id: try context.takeNumbers(max(logs, 1)),
            logs: logs,
            raw: block.rawBytes,
            size: block.compressed.count,
            received: time
        )
        try database.rows.add(row, of: stream.id, replays: replays, block.compressed)
        recent.keep(block, row: row.id)

        if replays > 0 {
            // Parts of the row may become rows under the numbers of its logs.
            let end = row.id + Int64(max(logs, 1)) - 1
            stream.replayed.add(row.id...end, after: stream.waiting.lastRow)
        }
        stream.waiting.add(row, since: time)
        weight.weighWaiting(stream.destination, bytes: row.size + RowRecord.overhead, rows: 1)
        stream.destination.change { ledger in
            ledger.accepted += Int64(logs)
            ledger.queued += Int64(logs)
        }
        stream.destination.volumes.accepted += block.rawBytes
        return row.id
    }

    /// Removes rows from the stream's front while `isDue` returns true, at most `left`, and counts
    /// them as expired. Returns the number of their logs.
    func drop(
        from stream: QueuedStream,
        _ left: inout Int,
        while isDue: (RowRecord) -> Bool
    ) throws(SQLiteError) -> Int {
        var gone: [RowRecord] = []
        var next: RowRecord?
        let rowsMax = left
        try database.rows.visit(of: stream.id, after: stream.waiting.sealedThrough) { row in
            guard gone.count < rowsMax, isDue(row) else {
                next = row
                return false
            }
            gone.append(row)
            return true
        }
        guard next != nil || gone.count == stream.waiting.rows else {
            throw .damage(
                "\(stream.waiting.rows) rows of stream \(stream.id) wait, \(gone.count) are there"
            )
        }
        if let next { stream.waiting.setOldest(min(ages.begin(next), now())) }
        guard !gone.isEmpty else { return 0 }
        left -= gone.count
        for row in gone { context.note(row, of: stream, .expired) }
        let (logs, raw) = try remove(gone, of: stream)
        stream.destination.count(logs, raw, .expired)
        try streams.rest(stream)
        return logs
    }

    /// Removes consecutive waiting rows. Returns their logs and bytes, which the caller counts.
    func remove(
        _ gone: [RowRecord],
        of stream: QueuedStream
    ) throws(SQLiteError) -> (logs: Int, raw: Int) {
        guard let first = gone.first, let last = gone.last else { return (0, 0) }
        try database.write()
        let removed = try database.rows.remove(of: stream.id, first.id...last.id)
        guard removed == gone.count else {
            throw .damage(
                "\(removed) of \(gone.count) rows of stream \(stream.id) could be removed"
            )
        }
        let logs = gone.reduce(0) { $0 + $1.logs }
        let raw = gone.reduce(0) { $0 + $1.raw }
        stream.waiting.remove(rows: gone.count, logs: logs, raw: raw)
        for row in gone { recent.remove(row.id) }
        weight.weighWaiting(
            stream.destination,
            bytes: -gone.reduce(0) { $0 + $1.size + RowRecord.overhead },
            rows: -gone.count
        )
        streams.scheduleNext(after: stream, now())
        return (logs, raw)
    }
}

/// Recently stored payloads, so that a packet that is sealed soon need not be read from the disk.
/// Bounded: the oldest leave first, such as those of a destination that asks for nothing.
final class RecentPayloads {
    private let bytesMax: Int
    private var blocks: [Int64: StoredBlock] = [:]
    private var order = Fifo<Int64>()
    private(set) var bytes = 0

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    func keep(_ block: StoredBlock, row: Int64) {
        blocks[row] = block
        order.append(row)
        bytes += block.compressed.count
        while bytes > bytesMax, let oldest = order.popFirst() { remove(oldest) }
        // Rows that were handed over are still in the order, which would grow behind a waiting row.
        if order.count > 2 * blocks.count + 1024 {
            var live = Fifo<Int64>()
            while let row = order.popFirst() {
                if blocks[row] != nil { live.append(row) }
            }
            order = live
        }
    }

    /// Takes the rows' payloads out. Nil unless all of them are here.
    func take(_ rows: [Int64]) -> [StoredBlock]? {
        let taken = rows.compactMap { remove($0) }
        return taken.count == rows.count ? taken : nil
    }

    @discardableResult
    func remove(_ row: Int64) -> StoredBlock? {
        guard let block = blocks.removeValue(forKey: row) else { return nil }
        bytes -= block.compressed.count
        return block
    }
}
