extension OpenStore {
    /// Removes a packet that its destination has stored. A packet that is not here was acknowledged
    /// before.
    func acknowledge(_ number: Int64) throws(SQLiteError) {
        guard let packet = packets[number] else { return }
        let stream = packet.stream
        try database.write()
        try database.removePacket(number)
        let removed = try database.removeRows(of: stream.id, packet.record.rows)
        guard removed == packet.rowCount else {
            throw SQLiteError.damage("packet \(number) has \(removed) rows, not \(packet.rowCount)")
        }
        leave(packet)
        weigh(stream.destination, bytes: -packet.bytes, rows: -packet.rowCount)
        let logs = Int64(packet.record.logs)
        stream.destination.change { ledger in
            ledger.delivered += logs
            ledger.queued -= logs
        }
        try rest(stream)
    }
}
