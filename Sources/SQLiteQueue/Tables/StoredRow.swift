import Logs
import Queue
import SQLite
import System

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
