import SQLite

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
    let firstRow: Statement
    let addPacket: Statement
    let removePacket: Statement
    let saveLane: Statement
    let saveLedger: Statement
    let saveSetting: Statement
    let repeats: RepeatTable
    let dead: DeadTable
    let decisions: DecisionTable

    private let pageCount: Statement
    private let freePageCount: Statement

    private(set) var isWriting = false

    init(_ connection: Connection, path: String) throws(SQLiteError) {
        self.connection = connection
        self.path = path
        begin = try connection.prepare("BEGIN IMMEDIATE")
        commitAll = try connection.prepare("COMMIT")
        rollBackAll = try connection.prepare("ROLLBACK")
        addStream = try connection.prepare("INSERT INTO streams VALUES (?, ?, ?, ?, ?, ?, ?)")
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
            SELECT count(*), sum(logs), sum(raw), sum(size), min(logs), min(raw), min(size)
            FROM rows INDEXED BY rows_by_stream
            WHERE stream = ?1 AND id BETWEEN ?2 AND ?3
            """
        )
        removeRows = try connection.prepare(
            """
            DELETE FROM rows INDEXED BY rows_by_stream
            WHERE stream = ?1 AND id BETWEEN ?2 AND ?3
            """
        )
        firstRow = try connection.prepare(
            "SELECT id FROM rows WHERE id BETWEEN ?1 AND ?2 LIMIT 1"
        )
        addPacket = try connection.prepare(
            "INSERT INTO packets VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        saveLane = try connection.prepare(
            "UPDATE packets SET lane_key = ?2, lane_sequence = ?3 WHERE number = ?1"
        )
        removePacket = try connection.prepare("DELETE FROM packets WHERE number = ?")
        saveLedger = try connection.prepare(
            "INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?)"
        )
        pageCount = try connection.prepare("PRAGMA page_count")
        freePageCount = try connection.prepare("PRAGMA freelist_count")
        saveSetting = try connection.prepare("INSERT OR REPLACE INTO settings VALUES (?, ?)")
        repeats = try RepeatTable(connection)
        dead = try DeadTable(connection)
        decisions = try DecisionTable(connection)
    }

    // MARK: - Transactions

    /// Begins a transaction unless one is open already: whoever writes calls it first.
    func write() throws(SQLiteError) {
        guard !isWriting else { return }
        try begin.run()
        isWriting = true
    }

    /// Every write belongs to a transaction. One by itself would be durable alone: a crash behind it would leave rows that
    /// no ledger counts, or packets without rows.
    func requireTransaction() {
        precondition(isWriting, "a write of the queue outside of a transaction")
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

extension QueueDatabase {
    func hasRow(_ number: Int64) throws(SQLiteError) -> Bool { try !hasNoRows(number...number) }

    /// Whether no row, of any stream, has one of the numbers.
    func hasNoRows(_ numbers: ClosedRange<Int64>) throws(SQLiteError) -> Bool {
        firstRow.bind(1, numbers.lowerBound)
        firstRow.bind(2, numbers.upperBound)
        defer { firstRow.reset() }
        return try !firstRow.step()
    }
}
