import Logs
import System

/// The tables in verbs: one prepared statement each, no decisions.
final class QueueDatabase {
    let connection: Connection
    let path: String

    private let begin: Statement
    private let commitAll: Statement
    private let rollBackAll: Statement
    let addStream: Statement
    let advancePack: Statement
    let removeStream: Statement
    let addRow: Statement
    let waitingRows: Statement
    let rowSums: Statement
    let removeRows: Statement
    let addPacket: Statement
    let removePacket: Statement
    let saveLedger: Statement
    let saveSetting: Statement

    private let pageCount: Statement
    private let freePageCount: Statement

    private(set) var isWriting = false

    init(_ connection: Connection, path: String) throws(SQLiteError) {
        self.connection = connection
        self.path = path
        begin = try connection.prepare("BEGIN IMMEDIATE")
        commitAll = try connection.prepare("COMMIT")
        rollBackAll = try connection.prepare("ROLLBACK")
        addStream = try connection.prepare("INSERT INTO streams VALUES (?, ?, ?, ?, ?, ?)")
        advancePack = try connection.prepare("UPDATE streams SET next_pack = ?2 WHERE id = ?1")
        removeStream = try connection.prepare("DELETE FROM streams WHERE id = ?")
        addRow = try connection.prepare("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        waitingRows = try connection.prepare(
            """
            SELECT id, logs, raw, size, received FROM rows INDEXED BY rows_by_stream
            WHERE stream = ?1 AND id > ?2 ORDER BY id
            """
        )
        rowSums = try connection.prepare(
            """
            SELECT count(*), sum(logs), sum(raw), sum(size) FROM rows INDEXED BY rows_by_stream
            WHERE stream = ?1 AND id BETWEEN ?2 AND ?3
            """
        )
        removeRows = try connection.prepare(
            """
            DELETE FROM rows INDEXED BY rows_by_stream
            WHERE stream = ?1 AND id BETWEEN ?2 AND ?3
            """
        )
        addPacket = try connection.prepare("INSERT INTO packets VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        removePacket = try connection.prepare("DELETE FROM packets WHERE number = ?")
        saveLedger = try connection.prepare(
            "INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?)"
        )
        pageCount = try connection.prepare("PRAGMA page_count")
        freePageCount = try connection.prepare("PRAGMA freelist_count")
        saveSetting = try connection.prepare("INSERT OR REPLACE INTO settings VALUES (?, ?)")
    }

    // MARK: - Transactions

    /// Begins a transaction unless one is open already: whoever writes calls it first.
    func write() throws(SQLiteError) {
        guard !isWriting else { return }
        try begin.run()
        isWriting = true
    }

    /// With full durability everything written so far is on stable storage when it returns.
    func commit() throws(SQLiteError) {
        guard isWriting else { return }
        try commitAll.run()
        isWriting = false
    }

    func rollBack() {
        guard isWriting else { return }
        isWriting = false
        // SQLite has rolled back by itself after some failures, and then this one fails.
        _ = try? rollBackAll.run()
    }
}

// MARK: - Space

extension QueueDatabase {
    func pages() throws(SQLiteError) -> Int { try pageCount.single() }
    func freePages() throws(SQLiteError) -> Int { try freePageCount.single() }

    /// Takes free pages off the file's end.
    func vacuum(_ pages: Int) throws(SQLiteError) {
        try connection.execute("PRAGMA incremental_vacuum(\(pages))")
    }
}

// MARK: - What the rows of the tables mean

extension QueueDatabase {
    func add(_ stream: StreamRecord) throws(SQLiteError) {
        addStream.bind(1, stream.id)
        addStream.bind(2, stream.key.destination)
        addStream.bind(3, stream.key.logstore)
        addStream.bind(4, stream.key.trailer.bytes)
        addStream.bind(5, stream.packPrefix)
        addStream.bind(6, stream.nextPack)
        try addStream.run()
    }

    func removeStream(_ id: Int64) throws(SQLiteError) {
        removeStream.bind(1, id)
        try removeStream.run()
    }

    func add(_ row: RowRecord, of stream: Int64, _ payload: [UInt8]) throws(SQLiteError) {
        addRow.bind(1, row.id)
        addRow.bind(2, stream)
        addRow.bind(3, Int64(row.logs))
        addRow.bind(4, Int64(row.raw))
        addRow.bind(5, Int64(row.size))
        addRow.bind(6, row.received.nanoseconds)
        addRow.bind(
            7,
            Checksum.of(payload, row: row.id, stream: stream, logs: row.logs, raw: row.raw)
        )
        try addRow.run(8, payload)
    }

    /// Visits a stream's rows behind `id` in order, until `visit` has enough and returns false.
    func rows(
        of stream: Int64,
        after id: Int64,
        _ visit: (RowRecord) -> Bool
    ) throws(SQLiteError) {
        waitingRows.bind(1, stream)
        waitingRows.bind(2, id)
        while try waitingRows.step() {
            let row = RowRecord(
                id: waitingRows.integer(0),
                logs: Int(waitingRows.integer(1)),
                raw: Int(waitingRows.integer(2)),
                size: Int(waitingRows.integer(3)),
                received: WallTime(nanoseconds: waitingRows.integer(4))
            )
            guard visit(row) else { return waitingRows.reset() }
        }
    }

    @discardableResult
    func removeRows(of stream: Int64, _ rows: ClosedRange<Int64>) throws(SQLiteError) -> Int {
        removeRows.bind(1, stream)
        removeRows.bind(2, rows.lowerBound)
        removeRows.bind(3, rows.upperBound)
        return try removeRows.run()
    }

    func add(_ packet: PacketRecord) throws(SQLiteError) {
        addPacket.bind(1, packet.number)
        addPacket.bind(2, packet.stream)
        addPacket.bind(3, packet.rows.lowerBound)
        addPacket.bind(4, packet.rows.upperBound)
        addPacket.bind(5, Int64(packet.logs))
        addPacket.bind(6, Int64(packet.raw))
        addPacket.bind(7, packet.oldest.nanoseconds)
        addPacket.bind(8, packet.pack)
        try addPacket.run()
    }

    func removePacket(_ number: Int64) throws(SQLiteError) {
        removePacket.bind(1, number)
        try removePacket.run()
    }

    func savePack(of stream: Int64, next pack: Int64) throws(SQLiteError) {
        advancePack.bind(1, stream)
        advancePack.bind(2, pack)
        try advancePack.run()
    }

    func save(_ ledger: Ledger, of destination: String) throws(SQLiteError) {
        saveLedger.bind(1, destination)
        saveLedger.bind(2, ledger.accepted)
        saveLedger.bind(3, ledger.delivered)
        saveLedger.bind(4, ledger.queued)
        saveLedger.bind(5, ledger.dead)
        saveLedger.bind(6, ledger.expired)
        saveLedger.bind(7, ledger.discarded)
        try saveLedger.run()
    }
}
