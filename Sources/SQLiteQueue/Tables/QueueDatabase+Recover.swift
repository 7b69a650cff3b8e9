import Queue
import SQLite

/// The questions of a start, which never touch a payload's pages, and of a repair, which do.
extension QueueDatabase {
    struct Sums {
        var rows = 0
        var logs = 0
        var raw = 0
        var size = 0
    }

    func ledgers() throws(SQLiteError) -> [String: Ledger] {
        let all = try connection.prepare("SELECT * FROM ledger")
        var ledgers: [String: Ledger] = [:]
        while try all.step() {
            let ledger = Ledger(all)
            guard ledger.isPlausible else { throw .damage("a ledger cannot be \(ledger)") }
            ledgers[all.text(0)] = ledger
        }
        return ledgers
    }

    /// In the order in which they were made.
    func streams() throws(SQLiteError) -> [StreamRecord] {
        let all = try connection.prepare("SELECT * FROM streams ORDER BY id")
        var records: [StreamRecord] = []
        while try all.step() { records.append(try StreamRecord(all)) }
        return records
    }

    /// In the order in which they were sealed.
    func packets() throws(SQLiteError) -> [PacketRecord] {
        let all = try connection.prepare("SELECT * FROM packets ORDER BY number")
        var records: [PacketRecord] = []
        while try all.step() { records.append(try PacketRecord(all)) }
        return records
    }

    /// A packet's rows with their payloads.
    func storedRows(of packet: PacketRecord) throws(SQLiteError) -> [StoredRow] {
        let all = try connection.prepare(StoredRow.query)
        all.bind(1, packet.stream)
        all.bind(2, packet.rows.lowerBound)
        all.bind(3, packet.rows.upperBound)
        var rows: [StoredRow] = []
        while try all.step() { rows.append(StoredRow(all)) }
        return rows
    }

    /// Visits all rows with the ids of their streams, stream by stream and in order, without their payloads.
    func everyRow(
        _ visit: (RowRecord, Int64) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        let all = try connection.prepare(
            """
            SELECT id, logs, raw, size, received, stream FROM rows INDEXED BY rows_by_stream
            ORDER BY stream, id
            """
        )
        while try all.step() { try visit(try RowRecord(all), all.integer(5)) }
    }

    func sums(of stream: Int64, _ rows: ClosedRange<Int64>) throws(SQLiteError) -> Sums {
        rowSums.bind(1, stream)
        rowSums.bind(2, rows.lowerBound)
        rowSums.bind(3, rows.upperBound)
        var sums = Sums()
        while try rowSums.step() {
            sums.rows = Int(rowSums.integer(0))
            sums.logs = Int(try rowSums.integer(1, in: Plausible.counts))
            sums.raw = Int(try rowSums.integer(2, in: Plausible.counts))
            sums.size = Int(try rowSums.integer(3, in: Plausible.counts))
            // A negative number hides in a sum.
            let isPlausible = (4...6).allSatisfy { rowSums.integer($0) >= 0 }
            guard isPlausible else { throw .damage("rows of stream \(stream) have negative sizes") }
        }
        return sums
    }
}
