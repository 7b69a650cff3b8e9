import Logs
import Queue
import SQLite

/// A dead letter that was read back.
struct StoredLetter {
    let record: DeadRecord
    /// True if all of it is what was stored.
    let isIntact: Bool

    init(_ row: Statement) {
        record = DeadRecord(row)
        let cost = row.integer(11)
        isIntact = record.checksum == row.integer(12) && Int64(record.cost) == cost
        // A letter that changed on the disk no longer tells its cost. The stored cost does.
        self.cost = Plausible.rowCounts.contains(cost) ? Int(cost) : record.cost
    }

    /// The cost that the bounds counted for it.
    let cost: Int
    /// Its memory when it is read and decompressed.
    var bytes: Int { cost + (isIntact ? record.raw : 0) }

    /// The log's bytes before compression, if they are known.
    var raw: Int { isIntact ? record.raw : record.payload.count }

    var log: EncodedLogs? { isIntact ? record.log : nil }

    func letter(of shard: Shard) -> DeadLetter {
        DeadLetter(
            id: shard.letterID(record.id),
            stream: record.stream,
            received: record.received,
            died: record.died,
            reason: record.reason,
            replays: record.replays,
            cost: cost,
            log: log
        )
    }
}
