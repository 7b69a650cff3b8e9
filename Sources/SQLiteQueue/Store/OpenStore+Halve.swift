import Logs
import Queue
import SQLite
import System

extension OpenStore {
    /// Cuts a packet of several logs into two: between two rows when it has them, for then nothing needs to
    /// be written but the packets, else through its row. That adds one, and so waits for room as what dies does.
    func halve(
        _ rows: [OpenRow],
        of packet: QueuedPacket,
        room: Int
    ) throws(SQLiteError) -> IsolationOutcome {
        let stream = packet.stream
        let halves = rows.count == 1 ? try halves(of: rows[0]) : []
        let growth = halves.reduce(-packet.bytes) { $0 + $1.payload.count + RowRecord.overhead }
        guard halves.isEmpty || growth <= room else { return .waits(for: growth) }
        try withdraw(packet)
        weigh(stream.destination, bytes: -packet.bytes, rows: -packet.rowCount)
        var first = PacketCut(.unlimited)
        var second = PacketCut(.unlimited)
        if halves.count == 2 {
            let (front, back) = try replace(rows[0], by: halves, of: stream)
            _ = first.take(front)
            _ = second.take(back)
        } else {
            let middle = Self.middle(of: rows.map(\.record.logs))
            for row in rows[..<middle] { _ = first.take(row.record) }
            for row in rows[middle...] { _ = second.take(row.record) }
        }
        try enterPiece(second, of: stream)
        try enterPiece(first, of: stream)
        return .done
    }

    /// Behind which of several rows about half of the logs are.
    private static func middle(of logs: [Int]) -> Int {
        let all = logs.reduce(0, +)
        var best = 1
        var before = logs[0]
        var sum = before
        for index in 1..<(logs.count - 1) {
            sum += logs[index]
            guard abs(2 * sum - all) < abs(2 * before - all) else { break }
            (best, before) = (index + 1, sum)
        }
        return best
    }

    /// Logs that will be a row, and what is stored of them.
    private struct Half {
        let logs: EncodedLogs
        let payload: [UInt8]
    }

    private func halves(of row: OpenRow) throws(SQLiteError) -> [Half] {
        let halves = (try? row.logs.pieces(atMost: .max, logs: (row.logs.count + 1) / 2)) ?? []
        guard halves.count == 2 else { throw .damage("row \(row.record.id) cannot be cut") }
        return halves.map { Half(logs: $0, payload: LZ4.compress($0.bytes)) }
    }

    private func replace(
        _ row: OpenRow,
        by halves: [Half],
        of stream: QueuedStream
    ) throws(SQLiteError) -> (RowRecord, RowRecord) {
        let id = row.record.id
        let (front, back) = (halves[0], halves[1])
        try database.removeRows(of: stream.id, id...id)
        let second = try numberForHalf(id + Int64(front.logs.count), of: row, stream)
        return (
            try write(front.logs, front.payload, number: id, insteadOf: row, stream),
            try write(back.logs, back.payload, number: second, insteadOf: row, stream)
        )
    }

    /// A row has as many numbers as it has logs, so its second half has one of its own that lies before the
    /// next row. Rows of an earlier version have one number each: where the wanted one is taken, the half goes
    /// behind all rows of its stream, and those that wait there must be sealed, for a packet never lies behind
    /// rows that wait.
    private func numberForHalf(
        _ wanted: Int64,
        of row: OpenRow,
        _ stream: QueuedStream
    ) throws(SQLiteError) -> Int64 {
        if wanted <= ids.last, try database.hasNoRows(row.record.id...wanted) {
            // It may be the stream's last one.
            stream.sealedThrough = max(stream.sealedThrough, wanted)
            return wanted
        }
        let time = now()
        while stream.waitingRows > 0 {
            stream.outlet.sealedBefore.append(try seal(stream, time).number)
        }
        stream.sealedThrough = try ids.take(database)
        return stream.sealedThrough
    }
}
