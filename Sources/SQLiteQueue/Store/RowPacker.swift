import Logs
import Queue
import SQLite

/// Makes rows of the batches of a stream: joins small ones, and splits those that are too large for one row.
///
/// Rows that reach 64 KiB compress as well as whole packets do, and a packet ends between rows.
struct RowPacker {
    let rawBytesMax: Int
    let logsMax: Int

    /// Compresses a batch that fills most of a row, so that the queue's thread only has to store it. Called by the
    /// thread that appends the batch: while one commit syncs, others compress for the next. Returns nothing for a
    /// smaller batch, which shares a row with others.
    func compressAlone(_ batch: EncodedLogs) -> [PackedRow] {
        guard batch.bytes.count > rawBytesMax / 2 else { return [] }
        return pieces(of: batch).map { PackedRow($0) }
    }

    /// Calls `row` with each row, in order. A single log that is larger than a row gets a row of its own. `scratch` is
    /// the buffer in which batches are joined.
    func pack(
        _ batches: [StagedBatches.Staged],
        scratch: inout [UInt8],
        row: (PackedRow) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        var index = 0
        while index < batches.count {
            let first = batches[index]
            if isUsable(first.rows) {
                for packed in first.rows { try row(packed) }
                index += 1
                continue
            }
            var end = index + 1
            var bytes = first.logs.bytes.count
            var logs = first.logs.count
            while end < batches.count, batches[end].rows.isEmpty,
                bytes + batches[end].logs.bytes.count <= rawBytesMax,
                logs + batches[end].logs.count <= logsMax
            {
                bytes += batches[end].logs.bytes.count
                logs += batches[end].logs.count
                end += 1
            }
            if end > index + 1 {
                scratch.removeAll(keepingCapacity: true)
                for batch in batches[index..<end] { scratch.append(contentsOf: batch.logs.bytes) }
                try row(PackedRow(scratch, logs: logs))
            } else {
                for piece in pieces(of: first.logs) { try row(PackedRow(piece)) }
            }
            index = end
        }
    }

    /// The destination may allow less than the queue's rows have.
    private func isUsable(_ rows: [PackedRow]) -> Bool {
        !rows.isEmpty
            && rows.allSatisfy { row in
                row.logs == 1 || row.block.rawBytes <= rawBytesMax && row.logs <= logsMax
            }
    }

    private func pieces(of batch: EncodedLogs) -> [EncodedLogs] {
        // If entries cannot be separated, our own encoding is wrong. Their bytes are kept all the same.
        (try? batch.pieces(atMost: rawBytesMax, logs: logsMax)) ?? [batch]
    }
}

extension PackedRow {
    fileprivate init(_ logs: EncodedLogs) { self.init(logs.bytes, logs: logs.count) }

    fileprivate init(_ bytes: [UInt8], logs: Int) {
        self.init(
            block: StoredBlock(compressed: LZ4.compress(bytes), rawBytes: bytes.count),
            logs: logs
        )
    }
}
