import Logs
import Queue
import SQLite
import System

/// A row without its payload.
struct RowRecord {
    var id: Int64
    let logs: Int
    let raw: Int
    let size: Int
    let received: WallTime

    /// The cost of a row besides its payload: other columns, index entry, ends of pages.
    static let overhead = 160

    /// The numbers of its logs. A damaged row may claim any number of logs.
    var numbers: ClosedRange<Int64> { id...id + Int64(max(1, min(logs, 1 << 31))) - 1 }
}

extension RowRecord {
    /// Takes the columns id, logs, raw, size, received.
    init(_ row: Statement) throws(SQLiteError) {
        id = try row.integer(0, in: Plausible.ids)
        logs = Int(try row.integer(1, in: Plausible.rowCounts))
        raw = Int(try row.integer(2, in: Plausible.rowCounts))
        size = Int(try row.integer(3, in: Plausible.rowCounts))
        received = WallTime(nanoseconds: max(0, row.integer(4)))
    }
}

/// A row that was read back with its payload.
struct StoredRow {
    static let columns = "id, stream, logs, raw, size, received, checksum, payload, replays"

    /// The rows of a packet in order.
    static let query = """
        SELECT \(columns) FROM rows INDEXED BY rows_by_stream
        WHERE stream = ?1 AND id BETWEEN ?2 AND ?3 ORDER BY id
        """

    let record: RowRecord
    let stream: Int64
    /// How often each of its logs was replayed as a dead letter.
    let replays: Int
    let payload: [UInt8]
    /// True if the payload and the numbers are the stored ones.
    let isIntact: Bool

    /// Takes the statement's current row, which must have `columns`.
    init(_ row: Statement) {
        record = RowRecord(
            id: row.integer(0),
            logs: Int(row.integer(2)),
            raw: Int(row.integer(3)),
            size: Int(row.integer(4)),
            received: WallTime(nanoseconds: row.integer(5))
        )
        stream = row.integer(1)
        payload = row.bytes(7)
        replays = Int(row.integer(8))
        let checksum = Checksum.of(
            payload,
            row: record.id,
            stream: stream,
            logs: record.logs,
            raw: record.raw,
            replays: replays
        )
        isIntact = checksum == row.integer(6) && payload.count == record.size
    }

    var block: StoredBlock { StoredBlock(compressed: payload, rawBytes: record.raw) }
}

/// A row with its decompressed logs.
struct OpenRow {
    let record: RowRecord
    let replays: Int
    let logs: EncodedLogs

    /// Nil if the row is not what was stored.
    init?(_ row: StoredRow) {
        guard row.isIntact,
            let bytes = try? LZ4.decompress(row.payload, rawBytes: row.record.raw),
            let count = try? LogEntries.count(bytes), count == row.record.logs
        else { return nil }
        record = row.record
        replays = row.replays
        logs = EncodedLogs(bytes: bytes, count: count)
    }
}

/// The table of rows. A start's queries never touch a payload's pages; a repair's do, and are
/// prepared at each use.
final class RowTable {
    private let transaction: WriteTransaction
    private let addOne: Statement
    private let behind: Statement
    private let sumsOf: Statement
    private let removeSome: Statement
    private let first: Statement

    init(_ transaction: WriteTransaction) throws(SQLiteError) {
        self.transaction = transaction
        addOne = try transaction.prepare(
            "INSERT INTO rows (\(StoredRow.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        behind = try transaction.prepare(
            """
            SELECT id, logs, raw, size, received FROM rows INDEXED BY rows_by_stream
            WHERE stream = ?1 AND id > ?2 ORDER BY id
            """
        )
        sumsOf = try transaction.prepare(
            """
            SELECT count(*), sum(logs), sum(raw), sum(size), min(logs), min(raw), min(size)
            FROM rows INDEXED BY rows_by_stream
            WHERE stream = ?1 AND id BETWEEN ?2 AND ?3
            """
        )
        removeSome = try transaction.prepare(
            """
            DELETE FROM rows INDEXED BY rows_by_stream
            WHERE stream = ?1 AND id BETWEEN ?2 AND ?3
            """
        )
        first = try transaction.prepare("SELECT id FROM rows WHERE id BETWEEN ?1 AND ?2 LIMIT 1")
    }

    func add(
        _ row: RowRecord,
        of stream: Int64,
        replays: Int,
        _ payload: [UInt8]
    ) throws(SQLiteError) {
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
        try transaction.run(addOne, 8, payload)
    }

    @discardableResult
    func remove(of stream: Int64, _ rows: ClosedRange<Int64>) throws(SQLiteError) -> Int {
        removeSome.bind(1, stream)
        removeSome.bind(2, rows.lowerBound)
        removeSome.bind(3, rows.upperBound)
        return try transaction.run(removeSome)
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

    /// For a start: visits all rows without payloads, stream by stream and in order.
    func visitAll(
        _ visit: (RowRecord, Int64) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        let all = try transaction.prepare(
            """
            SELECT id, logs, raw, size, received, stream FROM rows INDEXED BY rows_by_stream
            ORDER BY stream, id
            """
        )
        while try all.step() { try visit(try RowRecord(all), all.integer(5)) }
    }

    /// A packet's rows with their payloads.
    func stored(of packet: PacketRecord) throws(SQLiteError) -> [StoredRow] {
        let all = try transaction.prepare(StoredRow.query)
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
