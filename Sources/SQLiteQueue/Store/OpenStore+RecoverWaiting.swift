import Queue
import SQLite

extension OpenStore {
    /// One walk through the index finds what waits in every stream: asking for the sums of each took three
    /// times as long.
    func recoverWaiting(
        _ byID: [Int64: QueuedStream],
        _ queued: inout [String: Int64]
    ) throws(SQLiteError) {
        var found = 0
        var stream: QueuedStream?
        var waiting = WaitingSums(of: 0, after: 0)
        try database.everyRow { row, id throws(SQLiteError) in
            found += 1
            if id != waiting.stream {
                if let stream { try recover(waiting, of: stream, &queued) }
                stream = byID[id]
                guard let stream else { throw .damage("rows belong to no stream (\(id))") }
                waiting = WaitingSums(of: id, after: stream.sealedThrough)
            }
            waiting.add(row)
        }
        if let stream { try recover(waiting, of: stream, &queued) }
        guard found == rows else { throw .damage("\(found - rows) rows belong to no packet") }
    }

    private func recover(
        _ waiting: WaitingSums,
        of stream: QueuedStream,
        _ queued: inout [String: Int64]
    ) throws(SQLiteError) {
        guard let first = waiting.first else { return }
        stream.oldest = begin(first)
        stream.lastRow = waiting.last
        stream.waitingRows = waiting.rows
        stream.waitingLogs = waiting.logs
        stream.waitingRaw = waiting.raw
        weighWaiting(stream.destination, bytes: waiting.bytes, rows: waiting.rows)
        try checkWeight()
        queued[stream.key.destination, default: 0] += Int64(waiting.logs)
        stream.outlet.schedule(stream, now())
    }
}

/// What waits in a stream, summed up row by row.
private struct WaitingSums {
    let stream: Int64
    private let sealedThrough: Int64
    private(set) var first: RowRecord?
    private(set) var last: Int64 = 0
    private(set) var rows = 0
    private(set) var logs = 0
    private(set) var raw = 0
    private(set) var bytes = 0

    init(of stream: Int64, after sealedThrough: Int64) {
        self.stream = stream
        self.sealedThrough = sealedThrough
    }

    mutating func add(_ row: RowRecord) {
        guard row.id > sealedThrough else { return }
        if first == nil { first = row }
        last = row.id
        rows += 1
        logs += row.logs
        raw += row.raw
        bytes += row.size + RowRecord.overhead
    }
}
