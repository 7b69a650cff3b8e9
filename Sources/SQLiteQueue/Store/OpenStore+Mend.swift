import Queue
import SQLite
import System

extension OpenStore {
    /// Looks at a packet that delivery could not read. Rows whose payload is not what was stored are
    /// removed and counted as discarded; what is left of the packet goes out as a new one, since its content
    /// is another. Returns how many logs are lost.
    func mend(_ number: Int64) throws(SQLiteError) -> Int {
        guard let packet = packets[number] else { return 0 }
        var broken: [RowRecord] = []
        var remainder = PacketCut(.unlimited)
        for row in try database.storedRows(of: packet.record) {
            if OpenRow(row) != nil {
                _ = remainder.take(row.record)
            } else {
                broken.append(row.record)
            }
        }
        guard broken.count + remainder.rows.count == packet.rowCount else {
            throw .damage("packet \(number) lacks rows")
        }
        guard !broken.isEmpty else {
            packet.stream.outlet.sealedBefore.append(number)
            return 0
        }
        try withdraw(packet)
        for row in broken {
            try database.removeRows(of: packet.stream.id, row.id...row.id)
        }
        // Not by the broken rows' own numbers, which may be what is broken.
        weigh(packet.stream.destination, bytes: -packet.bytes, rows: -packet.rowCount)
        let lost = packet.record.logs - remainder.logs
        packet.stream.destination.change { ledger in
            ledger.discarded += Int64(lost)
            ledger.queued -= Int64(lost)
        }
        packet.stream.destination.volumes.discarded += max(0, packet.record.raw - remainder.raw)
        try enterPiece(remainder, of: packet.stream)
        try rest(packet.stream)
        return lost
    }
}
