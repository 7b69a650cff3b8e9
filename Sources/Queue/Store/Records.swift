import Logs
import System

// The rows of the tables as values.

struct StreamRecord {
    let id: Int64
    let key: StreamKey
    let packPrefix: String
    let nextPack: Int64
}

/// Everything about a row but its payload.
struct RowRecord {
    let id: Int64
    let logs: Int
    let raw: Int
    let size: Int
    let received: WallTime
}

struct PacketRecord {
    let number: Int64
    let stream: Int64
    let rows: ClosedRange<Int64>
    let logs: Int
    let raw: Int
    let oldest: WallTime
    let pack: Int64
}

// MARK: - From the current row of a statement that has all columns

extension StreamRecord {
    init(_ row: Statement) {
        id = row.integer(0)
        key = StreamKey(
            destination: row.text(1),
            logstore: row.text(2),
            trailer: GroupTrailer(bytes: row.bytes(3))
        )
        packPrefix = row.text(4)
        nextPack = row.integer(5)
    }
}

extension PacketRecord {
    /// Nil when the numbers make no sense.
    init?(_ row: Statement) {
        guard row.integer(2) <= row.integer(3) else { return nil }
        number = row.integer(0)
        stream = row.integer(1)
        rows = row.integer(2)...row.integer(3)
        logs = Int(row.integer(4))
        raw = Int(row.integer(5))
        oldest = WallTime(nanoseconds: row.integer(6))
        pack = row.integer(7)
    }
}

extension Ledger {
    init(_ row: Statement) {
        self.init()
        accepted = row.integer(1)
        delivered = row.integer(2)
        queued = row.integer(3)
        dead = row.integer(4)
        expired = row.integer(5)
        discarded = row.integer(6)
    }
}
