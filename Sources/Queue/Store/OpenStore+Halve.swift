import Logs
import System

extension OpenStore {
    /// Cuts a packet of several logs into two: between two rows when it has them, for then nothing needs to
    /// be written but the packets, else through its row.
    func halve(_ rows: [OpenRow], of packet: QueuedPacket) throws(SQLiteError) {
        let stream = packet.stream
        try withdraw(packet)
        weigh(stream.destination, bytes: -packet.bytes, rows: -packet.rowCount)
        var first = PacketCut(.unlimited)
        var second = PacketCut(.unlimited)
        if rows.count > 1 {
            let middle = Self.middle(of: rows.map(\.record.logs))
            for row in rows[..<middle] { _ = first.take(row.record) }
            for row in rows[middle...] { _ = second.take(row.record) }
        } else {
            for row in rows {
                let (front, back) = try cut(row, of: stream)
                _ = first.take(front)
                _ = second.take(back)
            }
        }
        try enterPiece(second, of: stream)
        try enterPiece(first, of: stream)
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

    private func cut(
        _ row: OpenRow,
        of stream: QueuedStream
    ) throws(SQLiteError) -> (RowRecord, RowRecord) {
        let id = row.record.id
        let halves = (try? row.logs.pieces(atMost: .max, logs: (row.logs.count + 1) / 2)) ?? []
        guard halves.count == 2 else { throw .damage("row \(id) cannot be cut") }
        try database.removeRows(of: stream.id, id...id)
        let second = try numberForHalf(id + Int64(halves[0].count), of: row, stream)
        return (
            try write(halves[0], number: id, insteadOf: row, stream),
            try write(halves[1], number: second, insteadOf: row, stream)
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

extension QueueDatabase {
    /// Whether no row, of any stream, has one of the numbers.
    fileprivate func hasNoRows(_ numbers: ClosedRange<Int64>) throws(SQLiteError) -> Bool {
        firstRow.bind(1, numbers.lowerBound)
        firstRow.bind(2, numbers.upperBound)
        defer { firstRow.reset() }
        return try !firstRow.step()
    }
}
