import Logs
import Queue
import SQLite

/// A dead letter read back.
struct StoredLetter {
    let record: DeadRecord
    /// All of it is what was stored.
    let isIntact: Bool

    init(_ row: Statement) {
        record = DeadRecord(row)
        let cost = row.integer(11)
        isIntact = record.checksum == row.integer(12) && Int64(record.cost) == cost
        // What changed on the disk does not say any more what it took; what was counted does.
        self.cost = Plausible.rowCounts.contains(cost) ? Int(cost) : record.cost
    }

    /// What it was counted with.
    let cost: Int
    /// What it takes in memory, read and opened.
    var bytes: Int { cost + (isIntact ? record.raw : 0) }

    /// The log's bytes before compression, as far as that is known.
    var raw: Int { isIntact ? record.raw : record.payload.count }

    var log: EncodedLogs? { isIntact ? record.log : nil }

    var letter: DeadLetter {
        DeadLetter(
            id: record.id,
            stream: record.stream,
            received: record.received,
            died: record.died,
            reason: record.reason,
            cost: cost,
            log: log
        )
    }
}
