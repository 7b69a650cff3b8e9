import Queue
import SQLite

extension OpenStore {
    /// Undoes a packet that is not acknowledged: its rows will leave, or go out in other packets. Every packet
    /// ends here or in `acknowledge`. What it weighed, and its rows, are the caller's to take away.
    func withdraw(_ packet: QueuedPacket) throws(SQLiteError) {
        try database.write()
        try database.removePacket(packet.record.number)
        leave(packet)
    }

    /// Hands rows over as a packet of their own, in turn with everything else of their outlet. Returns nil when
    /// there are none.
    @discardableResult
    func enterPiece(
        _ cut: PacketCut,
        of stream: QueuedStream
    ) throws(SQLiteError) -> QueuedPacket? {
        guard
            let record = cut.record(
                number: try ids.take(database),
                stream: stream.id,
                pack: stream.nextPack
            )
        else { return nil }
        let piece = try enter(record, cut, stream, isPiece: true)
        weigh(stream.destination, bytes: piece.bytes, rows: piece.rowCount)
        stream.outlet.pieces.insert(record.number, logs: record.logs)
        return piece
    }

    /// See `PacketSource.discard`. Returns how many logs that were.
    func discard(_ number: Int64) throws(SQLiteError) -> Int {
        guard let packet = packets[number] else { return 0 }
        let stream = packet.stream
        try withdraw(packet)
        try removeRows(of: packet)
        let logs = Int64(packet.record.logs)
        stream.destination.change { ledger in
            ledger.discarded += logs
            ledger.queued -= logs
        }
        stream.destination.volumes.discarded += packet.record.raw
        try rest(stream)
        return packet.record.logs
    }

    /// Removes those rows of a packet that `leaves` names; the others go out as a new packet. Without any the packet stays
    /// as it was. Delivery must not hold it. Returns the logs and bytes that left, which the caller counts.
    func removeRows(
        of packet: QueuedPacket,
        where leaves: (RowRecord) -> Bool
    ) throws(SQLiteError) -> (logs: Int, raw: Int) {
        let stream = packet.stream
        let rows = packet.record.rows
        var gone: [RowRecord] = []
        var rest = PacketCut(.unlimited)
        try database.rows(of: stream.id, after: rows.lowerBound - 1) { row in
            guard row.id <= rows.upperBound else { return false }
            if leaves(row) {
                gone.append(row)
            } else {
                _ = rest.take(row)
            }
            return true
        }
        guard gone.count + rest.rows.count == packet.rowCount else {
            throw .damage("packet \(packet.record.number) lacks rows")
        }
        guard !gone.isEmpty else { return (0, 0) }
        try withdraw(packet)
        for row in gone { try database.removeRows(of: stream.id, row.id...row.id) }
        weigh(stream.destination, bytes: -packet.bytes, rows: -packet.rowCount)
        try enterPiece(rest, of: stream)
        return (packet.record.logs - rest.logs, gone.reduce(0) { $0 + $1.raw })
    }

    /// Removes all rows of a packet that leaves, and what they weigh.
    func removeRows(of packet: QueuedPacket) throws(SQLiteError) {
        let record = packet.record
        let removed = try database.removeRows(of: record.stream, record.rows)
        guard removed == packet.rowCount else {
            throw .damage(
                "packet \(record.number) has \(removed) rows, not \(packet.rowCount)"
            )
        }
        weigh(packet.stream.destination, bytes: -packet.bytes, rows: -packet.rowCount)
    }
}
