import Logs

/// A row whose logs lie open.
struct OpenRow {
    let record: RowRecord
    let logs: EncodedLogs

    /// Nil when the row is not what was stored.
    init?(_ row: StoredRow) {
        guard row.isIntact,
            let bytes = try? LZ4.decompress(row.payload, rawBytes: row.record.raw),
            let count = try? LogEntries.count(bytes), count == row.record.logs
        else { return nil }
        record = row.record
        logs = EncodedLogs(bytes: bytes, count: count)
    }
}
