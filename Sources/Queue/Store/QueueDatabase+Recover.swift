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
        while try all.step() { ledgers[all.text(0)] = Ledger(all) }
        return ledgers
    }

    func streams() throws(SQLiteError) -> [StreamRecord] {
        let all = try connection.prepare("SELECT * FROM streams")
        var records: [StreamRecord] = []
        while try all.step() { records.append(StreamRecord(all)) }
        return records
    }

    /// In the order in which they were sealed.
    func packets() throws(SQLiteError) -> [PacketRecord] {
        let all = try connection.prepare("SELECT * FROM packets ORDER BY number")
        var records: [PacketRecord] = []
        while try all.step() {
            guard let record = PacketRecord(all) else { throw .damage("a packet ends too early") }
            records.append(record)
        }
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

    /// The ids of the streams that have rows, each found with one step in the index.
    func streamsWithRows() throws(SQLiteError) -> [Int64] {
        let next = try connection.prepare(
            """
            SELECT stream FROM rows INDEXED BY rows_by_stream WHERE stream > ? ORDER BY stream LIMIT 1
            """
        )
        var found: [Int64] = []
        next.bind(1, Int64.min)
        while try next.step() {
            found.append(next.integer(0))
            next.reset()
            next.bind(1, found[found.count - 1])
        }
        return found
    }

    func sums(of stream: Int64, _ rows: ClosedRange<Int64>) throws(SQLiteError) -> Sums {
        rowSums.bind(1, stream)
        rowSums.bind(2, rows.lowerBound)
        rowSums.bind(3, rows.upperBound)
        var sums = Sums()
        while try rowSums.step() {
            sums.rows = Int(rowSums.integer(0))
            sums.logs = Int(rowSums.integer(1))
            sums.raw = Int(rowSums.integer(2))
            sums.size = Int(rowSums.integer(3))
        }
        return sums
    }
}
