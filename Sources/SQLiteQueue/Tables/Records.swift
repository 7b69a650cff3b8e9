import Logs
import Queue
import SQLite
import System

// The rows of the tables as values.

struct StreamRecord {
    let id: Int64
    let key: StreamKey
    let packPrefix: String
    let nextPack: Int64
}

/// A row without its payload.
struct RowRecord {
    let id: Int64
    let logs: Int
    let raw: Int
    let size: Int
    let received: WallTime

    /// The cost of a row besides its payload: its other columns, its index entry, the ends of
    /// pages.
    static let overhead = 160

    /// The numbers of its logs. A damaged row may claim any number of logs.
    var numbers: ClosedRange<Int64> { id...id + Int64(max(1, min(logs, 1 << 31))) - 1 }
}

struct PacketRecord {
    let number: Int64
    let stream: Int64
    let rows: ClosedRange<Int64>
    let logs: Int
    let raw: Int
    let oldest: WallTime
    let pack: Int64
    var lane: PacketLane?
}

// MARK: - From the current row of a statement that has all columns

extension StreamRecord {
    init(_ row: Statement) throws(SQLiteError) {
        try self.init(row, nextPack: row.integer(5, in: Plausible.counts))
    }

    private init(_ row: Statement, nextPack: Int64) throws(SQLiteError) {
        id = try row.integer(0, in: Plausible.ids)
        key = StreamKey(
            destination: row.text(1),
            logstore: row.text(2),
            trailer: GroupTrailer(bytes: row.bytes(3))
        )
        packPrefix = row.text(4)
        self.nextPack = nextPack
        // The checksum of a record whose end is missing is NULL.
        guard !row.isNull(6), row.integer(6) == checksum else {
            throw .damage("stream \(id) has changed on the disk")
        }
    }

    /// The value of the column `checksum`. It covers everything except the pack counter, which
    /// changes.
    var checksum: Int64 {
        var checksum = Checksum()
        checksum.add(UInt64(bitPattern: id))
        for text in [key.destination, key.logstore, packPrefix] { checksum.add(Array(text.utf8)) }
        checksum.add(key.trailer.bytes)
        return Int64(bitPattern: checksum.value)
    }
}

extension StreamRecord {
    /// If only the pack counter is implausible, it continues far behind any value that was used.
    init(mending row: Statement) throws(SQLiteError) {
        try self.init(row, nextPack: (try? row.integer(5, in: Plausible.counts)) ?? 1 << 40)
    }
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

extension PacketRecord {
    init(_ row: Statement) throws(SQLiteError) {
        try self.init(row, lane: PacketLane(row, 8))
    }

    /// If only the lane is implausible, the packet gets another lane.
    init(mending row: Statement) throws(SQLiteError) {
        do throws(SQLiteError) {
            try self.init(row)
        } catch {
            try self.init(row, lane: .anywhere())
        }
    }

    private init(_ row: Statement, lane: PacketLane?) throws(SQLiteError) {
        self.lane = lane
        number = try row.integer(0, in: Plausible.ids)
        stream = try row.integer(1, in: Plausible.ids)
        let first = try row.integer(2, in: Plausible.ids)
        let last = try row.integer(3, in: Plausible.ids)
        guard first <= last else { throw .damage("packet \(number) ends before it begins") }
        rows = first...last
        logs = Int(try row.integer(4, in: Plausible.counts))
        raw = Int(try row.integer(5, in: Plausible.counts))
        oldest = WallTime(nanoseconds: max(0, row.integer(6)))
        pack = try row.integer(7, in: Plausible.counts)
    }
}

extension Ledger {
    /// The ledger as it is stored, even if it is implausible.
    init(_ row: Statement) {
        self.init()
        accepted = row.integer(1)
        delivered = row.integer(2)
        queued = row.integer(3)
        dead = row.integer(4)
        expired = row.integer(5)
        discarded = row.integer(6)
        skipped = row.integer(7)
    }

    private static var columns: [WritableKeyPath<Ledger, Int64>] {
        [\.accepted, \.delivered, \.queued, \.dead, \.expired, \.discarded]
    }

    var isPlausible: Bool {
        (Self.columns + [\.skipped]).allSatisfy { Plausible.counts.contains(self[keyPath: $0]) }
    }

    /// The ledger without implausible numbers. One missing number follows from the others. If
    /// several are missing, none can be derived.
    var mended: Ledger {
        var mended = self
        if !Plausible.counts.contains(skipped) { mended.skipped = 0 }
        let damaged = Self.columns.filter { !Plausible.counts.contains(self[keyPath: $0]) }
        for column in damaged { mended[keyPath: column] = 0 }
        guard damaged.count == 1, let column = damaged.first else { return mended }
        let rest =
            mended.delivered + mended.queued + mended.dead + mended.expired + mended.discarded
        let missing = column == \.accepted ? rest : mended.accepted - rest
        mended[keyPath: column] = max(0, missing)
        return mended
    }
}

/// The greatest plausible numbers in the database. Only payloads have checksums, so a check of the
/// size finds a damaged number before it is used. Plausible numbers are too small to overflow a
/// sum.
enum Plausible {
    /// Numbers, pack counters, and logs or bytes of a whole destination. A million a second reach
    /// 2^53 after 285 years.
    static let counts: ClosedRange<Int64> = 0...(1 << 53)
    static let ids: ClosedRange<Int64> = 1...(1 << 53)
    /// Numbers of one row: SQLite and LZ4 hold no larger payloads.
    static let rowCounts: ClosedRange<Int64> = 0...(1 << 31)
}

extension Statement {
    /// The column's number. Throws if it is not in `range`, which means that the disk changed it.
    func integer(_ column: CInt, in range: ClosedRange<Int64>) throws(SQLiteError) -> Int64 {
        let value = integer(column)
        guard range.contains(value) else {
            throw .damage("column \(column) cannot be \(value) in: \(sql)")
        }
        return value
    }
}

extension Ledger {
    /// Sets the queued and dead logs to the numbers that were found. Missing logs count as
    /// discarded, additional logs as accepted.
    mutating func close(queued: Int64, dead: Int64) {
        self.queued = queued
        self.dead = dead
        let missing = accepted - (delivered + queued + dead + expired + discarded)
        if missing > 0 {
            discarded += missing
        } else {
            accepted -= missing
        }
    }
}
