import System

// What was sealed and never delivered grows old as what waits does: a logstore that does not exist would else keep
// its logs, and its place among the destination's logstores, for ever.
extension OpenStore {
    /// Whether its oldest row has waited longer than the operator allows.
    func isExpired(_ packet: QueuedPacket, _ time: WallTime) -> Bool {
        let record = packet.record
        let oldest = begin(record.oldest, number: record.rows.lowerBound)
        return oldest + ageMax(of: packet.stream.destination) <= time
    }

    /// Removes rows of a packet that are too old, and counts them as expired; the others go out as a new one.
    /// Delivery must not hold it. Returns the number of their logs.
    func expire(packet number: Int64) throws(SQLiteError) -> Int {
        let time = now()
        guard let packet = packets[number], knowsTime, isExpired(packet, time) else { return 0 }
        let stream = packet.stream
        let ageMax = ageMax(of: stream.destination)
        var old: [RowRecord] = []
        var rest = PacketCut(.unlimited)
        let rows = packet.record.rows
        try database.rows(of: stream.id, after: rows.lowerBound - 1) { row in
            guard row.id <= rows.upperBound else { return false }
            if begin(row) + ageMax <= time {
                old.append(row)
            } else {
                _ = rest.take(row)
            }
            return true
        }
        guard old.count + rest.rows.count == packet.rowCount else {
            throw .damage("packet \(number) lacks rows")
        }
        guard !old.isEmpty else { return 0 }
        try withdraw(packet)
        for row in old { try database.removeRows(of: stream.id, row.id...row.id) }
        weigh(stream.destination, bytes: -packet.bytes, rows: -packet.rowCount)
        let logs = packet.record.logs - rest.logs
        stream.destination.change { ledger in
            ledger.expired += Int64(logs)
            ledger.queued -= Int64(logs)
        }
        stream.destination.volumes.expired += old.reduce(0) { $0 + $1.raw }
        try enterPiece(rest, of: stream)
        try self.rest(stream)
        return logs
    }
}
