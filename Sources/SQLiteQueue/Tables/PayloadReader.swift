import Queue
import SQLite

/// Reads payloads through a separate connection, which opens at its first use, cannot write, and
/// never checkpoints. Each read is a short transaction, so the log can always start from its
/// beginning.
final class PayloadReader {
    private let path: String
    /// False while the owner opens, repairs or replaces the database.
    private var isAllowed = false
    private var open: (connection: Connection, payloads: Statement)?

    init(_ path: String) {
        self.path = path
    }

    func allow() {
        isAllowed = true
    }

    func close() {
        isAllowed = false
        open = nil
    }

    /// The rows of the packet, each with its checksum proved.
    func blocks(
        of packet: SealedPacket
    ) throws(QueueError) -> [StoredBlock] {
        guard isAllowed else {
            throw QueueError(.io, "\(path) is not open at the moment; try again later.")
        }
        do throws(SQLiteError) {
            return try read(packet)
        } catch {
            open = nil
            throw QueueError(error, path: path)
        }
    }

    private func read(_ packet: SealedPacket) throws(SQLiteError) -> [StoredBlock] {
        let payloads = try opened().payloads
        payloads.bind(1, packet.streamID.number)
        payloads.bind(2, packet.rows.lowerBound)
        payloads.bind(3, packet.rows.upperBound)
        // The read transaction must end here in every case.
        defer { payloads.reset() }
        var blocks: [StoredBlock] = []
        var logs = 0
        var raw = 0
        while try payloads.step() {
            let row = StoredRow(payloads)
            guard row.isIntact else {
                throw .damage("row \(row.record.id) has changed on the disk")
            }
            logs += row.record.logs
            raw += row.record.raw
            blocks.append(row.block)
        }
        guard logs == packet.logCount, raw == packet.rawBytes else {
            throw .damage("packet \(packet.number) lacks rows")
        }
        return blocks
    }

    private func opened() throws(SQLiteError) -> (connection: Connection, payloads: Statement) {
        if let open { return open }
        let connection = try Connection(path, .readOnly)
        try Pragmas.reader(connection)
        let new = (connection, try connection.prepare(StoredRow.query))
        open = new
        return new
    }
}
