import Logs
import Queue

/// Makes rows of the batches of a stream: joins small ones, and splits those that are too large for
/// one row.
///
/// Rows that reach 64 KiB compress as well as whole packets do, and a packet ends between rows.
struct RowPacker {
    let rawBytesMax: Int
    let logsMax: Int

    /// Compresses a batch that fills most of a row, so that the queue's thread only has to store
    /// it. Called by the thread that appends the batch: while one commit syncs, others compress for
    /// the next. Returns nothing for a smaller batch, which shares a row with others.
    func compressAlone(_ batch: EncodedLogs) -> [PackedRow] {
        guard fillsRow(batch) else { return [] }
        return pieces(of: batch).map { PackedRow($0) }
    }

    /// True for a batch that fills most of a row.
    func fillsRow(_ batch: EncodedLogs) -> Bool { batch.bytes.count > rawBytesMax / 2 }

    /// Adds the rows of the batches, in order. A single log that is larger than a row gets a row of
    /// its own.
    func plan(_ batches: [StagedBatches.Staged], to rows: inout [PlannedRow]) {
        var index = 0
        while index < batches.count {
            let first = batches[index]
            if isUsable(first.rows) {
                rows += first.rows.map { .packed($0) }
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
                rows.append(.joined(batches[index..<end], logs: logs))
            } else {
                rows += pieces(of: first.logs).map { .whole($0) }
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
        // If entries cannot be separated, our own encoding is wrong. Their bytes are kept all the
        // same.
        (try? batch.pieces(atMost: rawBytesMax, logs: logsMax)) ?? [batch]
    }
}

/// Logs that become one row.
enum PlannedRow: Sendable {
    case packed(PackedRow)
    case whole(EncodedLogs)
    case joined(ArraySlice<StagedBatches.Staged>, logs: Int)

    var isPacked: Bool { if case .packed = self { true } else { false } }

    /// The row, compressed. `scratch` is the buffer in which batches are joined.
    func packed(joining scratch: inout [UInt8]) -> PackedRow {
        switch self {
        case .packed(let row): return row
        case .whole(let logs): return PackedRow(logs)
        case .joined(let batches, let logs):
            scratch.removeAll(keepingCapacity: true)
            for batch in batches { scratch.append(contentsOf: batch.logs.bytes) }
            return PackedRow(scratch, logs: logs)
        }
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
