import Logs
import SQLite

/// Joins the batches of a stream into rows, and splits batches that are too large for one row.
///
/// Rows that reach 64 KiB compress as well as whole packets do, and a packet ends between rows.
struct RowPacker {
    let rawBytesMax: Int
    let logsMax: Int

    /// Calls `row` with the content of each row and its number of logs, in order. A single log that is larger than a
    /// row gets a row of its own.
    func pack(
        _ batches: [EncodedLogs],
        scratch: inout [UInt8],
        row: (UnsafeRawBufferPointer, Int) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        var index = 0
        while index < batches.count {
            let first = batches[index]
            var end = index + 1
            var bytes = first.bytes.count
            var logs = first.count
            while end < batches.count, bytes + batches[end].bytes.count <= rawBytesMax,
                logs + batches[end].count <= logsMax
            {
                bytes += batches[end].bytes.count
                logs += batches[end].count
                end += 1
            }
            if end > index + 1 {
                scratch.removeAll(keepingCapacity: true)
                for batch in batches[index..<end] { scratch.append(contentsOf: batch.bytes) }
                try emit(scratch, logs, row)
            } else if bytes <= rawBytesMax, logs <= logsMax {
                try emit(first.bytes, logs, row)
            } else {
                try split(first, row)
            }
            index = end
        }
    }

    private func split(
        _ batch: EncodedLogs,
        _ row: (UnsafeRawBufferPointer, Int) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        // If entries cannot be separated, our own encoding is wrong. Their bytes are kept all the same.
        let pieces = (try? batch.pieces(atMost: rawBytesMax, logs: logsMax)) ?? [batch]
        for piece in pieces { try emit(piece.bytes, piece.count, row) }
    }

    private func emit(
        _ bytes: [UInt8],
        _ logs: Int,
        _ row: (UnsafeRawBufferPointer, Int) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        // `withUnsafeBytes` of Array carries no typed throw on this toolchain.
        let failure: SQLiteError? = bytes.withUnsafeBytes { buffer in
            do throws(SQLiteError) {
                try row(buffer, logs)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }
}
