import Logs
import Queue
import SQLite
import System

/// The table of rows. The queries of a start never touch a payload's pages; the queries of a repair
/// do. These queries are prepared at each use, the others once.
final class RowTable {
    private let connection: Connection
    private let transaction: WriteTransaction
    private let addOne: Statement
    private let behind: Statement
    private let sumsOf: Statement
    private let removeSome: Statement
    private let first: Statement

    init(
        _ connection: Connection,
        _ transaction: WriteTransaction
    ) throws(SQLiteError) {
        self.transaction = transaction
        self.connection = connection
        addOne = try connection.prepare(
            "INSERT INTO rows (\(StoredRow.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        behind = try connection.prepare(
            """
            SELECT id, logs, raw, size, received FROM rows INDEXED BY rows_by_stream
            WHERE stream = ?1 AND id > ?2 ORDER BY id
            """
        )
        sumsOf = try connection.prepare(
            """
            SELECT count(*), sum(logs), sum(raw), sum(size), min(logs), min(raw), min(size)
            FROM rows INDEXED BY rows_by_stream
            WHERE stream = ?1 AND id BETWEEN ?2 AND ?3
            """
        )
        removeSome = try connection.prepare(
            """
            DELETE FROM rows INDEXED BY rows_by_stream
            WHERE stream = ?1 AND id BETWEEN ?2 AND ?3
            """
        )
        first = try connection.prepare("SELECT id FROM rows WHERE id BETWEEN ?1 AND ?2 LIMIT 1")
    }

    func add(
        _ row: RowRecord,
        of stream: Int64,
        replays: Int,
        _ payload: [UInt8]
    ) throws(SQLiteError) {
        transaction.require()
        addOne.bind(1, row.id)
        addOne.bind(2, stream)
        addOne.bind(3, Int64(row.logs))
        addOne.bind(4, Int64(row.raw))
        addOne.bind(5, Int64(row.size))
        addOne.bind(6, row.received.nanoseconds)
        addOne.bind(
            7,
            Checksum.of(
                payload,
                row: row.id,
                stream: stream,
                logs: row.logs,
                raw: row.raw,
                replays: replays
            )
        )
        addOne.bind(9, Int64(replays))
        try addOne.run(8, payload)
    }

    @discardableResult
    func remove(of stream: Int64, _ rows: ClosedRange<Int64>) throws(SQLiteError) -> Int {
        transaction.require()
        removeSome.bind(1, stream)
        removeSome.bind(2, rows.lowerBound)
        removeSome.bind(3, rows.upperBound)
        return try removeSome.run()
    }

    /// Visits a stream's rows behind `id` in order until `visit` returns false.
    func visit(
        of stream: Int64,
        after id: Int64,
        _ visit: (RowRecord) -> Bool
    ) throws(SQLiteError) {
        behind.bind(1, stream)
        behind.bind(2, id)
        while try behind.step() {
            let row: RowRecord
            do throws(SQLiteError) {
                row = try RowRecord(behind)
            } catch {
                behind.reset()
                throw error
            }
            guard visit(row) else { return behind.reset() }
        }
    }

    /// The sums over rows.
    struct Sums {
        var rows = 0
        var logs = 0
        var raw = 0
        var size = 0
    }

    func sums(of stream: Int64, _ rows: ClosedRange<Int64>) throws(SQLiteError) -> Sums {
        sumsOf.bind(1, stream)
        sumsOf.bind(2, rows.lowerBound)
        sumsOf.bind(3, rows.upperBound)
        var sums = Sums()
        while try sumsOf.step() {
            sums.rows = Int(sumsOf.integer(0))
            sums.logs = Int(try sumsOf.integer(1, in: Plausible.counts))
            sums.raw = Int(try sumsOf.integer(2, in: Plausible.counts))
            sums.size = Int(try sumsOf.integer(3, in: Plausible.counts))
            // A sum may hide a negative number.
            let isPlausible = (4...6).allSatisfy { sumsOf.integer($0) >= 0 }
            guard isPlausible else { throw .damage("rows of stream \(stream) have negative sizes") }
        }
        return sums
    }

    /// For a start: visits all rows with the ids of their streams, stream by stream and in order,
    /// without payloads.
    func visitAll(
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

    /// A packet's rows with their payloads.
    func stored(of packet: PacketRecord) throws(SQLiteError) -> [StoredRow] {
        let all = try connection.prepare(StoredRow.query)
        all.bind(1, packet.stream)
        all.bind(2, packet.rows.lowerBound)
        all.bind(3, packet.rows.upperBound)
        var rows: [StoredRow] = []
        while try all.step() { rows.append(StoredRow(all)) }
        return rows
    }

    /// True if no row of any stream has one of the numbers.
    func hasNone(in numbers: ClosedRange<Int64>) throws(SQLiteError) -> Bool {
        first.bind(1, numbers.lowerBound)
        first.bind(2, numbers.upperBound)
        defer { first.reset() }
        return try !first.step()
    }

    func has(_ number: Int64) throws(SQLiteError) -> Bool { try !hasNone(in: number...number) }
}
