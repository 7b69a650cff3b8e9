import Logs
import System

/// The questions of a start. They read tables and index, never a payload's pages.
extension QueueDatabase {
    struct Sums {
        var rows = 0
        var logs = 0
        var raw = 0
        var size = 0
    }

    func highestIdentifier() throws(SQLiteError) -> Int64 {
        try connection.integer(
            """
            SELECT max(
                coalesce((SELECT value FROM settings WHERE name = '\(IdentifierSupply.setting)'), 0),
                coalesce((SELECT max(id) FROM streams), 0),
                coalesce((SELECT max(id) FROM rows), 0),
                coalesce((SELECT max(number) FROM packets), 0)
            )
            """
        )
    }

    func eachLedger(_ visit: (String, Ledger) -> Void) throws(SQLiteError) {
        let all = try connection.prepare("SELECT * FROM ledger")
        while try all.step() {
            var ledger = Ledger()
            ledger.accepted = all.integer(1)
            ledger.delivered = all.integer(2)
            ledger.queued = all.integer(3)
            ledger.dead = all.integer(4)
            ledger.expired = all.integer(5)
            ledger.discarded = all.integer(6)
            visit(all.text(0), ledger)
        }
    }

    func eachStream(
        _ visit: (_ id: Int64, _ key: StreamKey, _ prefix: String, _ nextPack: Int64) -> Void
    ) throws(SQLiteError) {
        let all = try connection.prepare("SELECT * FROM streams")
        while try all.step() {
            let key = StreamKey(
                destination: all.text(1),
                logstore: all.text(2),
                trailer: GroupTrailer(bytes: all.bytes(3))
            )
            visit(all.integer(0), key, all.text(4), all.integer(5))
        }
    }

    /// In the order in which they were sealed.
    func allPackets() throws(SQLiteError) -> [PacketRecord] {
        let all = try connection.prepare("SELECT * FROM packets ORDER BY number")
        var records: [PacketRecord] = []
        while try all.step() {
            let first = all.integer(2)
            guard first <= all.integer(3) else { throw .damage("a packet ends before it begins") }
            records.append(
                PacketRecord(
                    number: all.integer(0),
                    stream: all.integer(1),
                    rows: first...all.integer(3),
                    logs: Int(all.integer(4)),
                    raw: Int(all.integer(5)),
                    oldest: WallTime(nanoseconds: all.integer(6)),
                    pack: all.integer(7)
                )
            )
        }
        return records
    }

    /// The ids of the streams that have rows, each found with one step in the index.
    func streamsWithRows() throws(SQLiteError) -> [Int64] {
        let next = try connection.prepare(
            """
            SELECT stream FROM rows INDEXED BY rows_by_stream WHERE stream > ? ORDER BY stream LIMIT 1
            """
        )
        var found: [Int64] = []
        next.bind(1, Int64.min)
        while try next.step() {
            found.append(next.integer(0))
            next.reset()
            next.bind(1, found[found.count - 1])
        }
        return found
    }

    func sums(of stream: Int64, _ rows: ClosedRange<Int64>) throws(SQLiteError) -> Sums {
        rowSums.bind(1, stream)
        rowSums.bind(2, rows.lowerBound)
        rowSums.bind(3, rows.upperBound)
        var sums = Sums()
        while try rowSums.step() {
            sums.rows = Int(rowSums.integer(0))
            sums.logs = Int(rowSums.integer(1))
            sums.raw = Int(rowSums.integer(2))
            sums.size = Int(rowSums.integer(3))
        }
        return sums
    }
}
