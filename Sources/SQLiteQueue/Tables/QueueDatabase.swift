import Queue
import SQLite

/// The queue's database: its tables, without decisions, and the transaction that writes them.
final class QueueDatabase {
    let connection: Connection
    let path: String
    private let transaction: WriteTransaction
    let streams: StreamTable
    let rows: RowTable
    let packets: PacketTable
    let ledgers: LedgerTable
    let intake: IntakeTable
    let settings: SettingTable
    let repeats: RepeatTable
    let dead: DeadTable
    let decisions: DecisionTable
    private let pageCount: Statement
    private let freePageCount: Statement

    init(_ connection: Connection, path: String, log: (any ChangeLog)? = nil) throws(SQLiteError) {
        self.connection = connection
        self.path = path
        transaction = try WriteTransaction(connection, log: log)
        streams = try StreamTable(connection, transaction)
        rows = try RowTable(connection, transaction)
        packets = try PacketTable(connection, transaction)
        ledgers = try LedgerTable(connection, transaction)
        intake = try IntakeTable(connection, transaction)
        settings = try SettingTable(connection, transaction)
        repeats = try RepeatTable(connection, transaction)
        dead = try DeadTable(connection, transaction)
        decisions = try DecisionTable(connection, transaction)
        pageCount = try connection.prepare("PRAGMA page_count")
        freePageCount = try connection.prepare("PRAGMA freelist_count")
    }

    // MARK: - Transactions

    var isWriting: Bool { transaction.isOpen }

    /// Begins a transaction unless one is open already. Called before each write.
    func write() throws(SQLiteError) { try transaction.begin() }

    func commit() throws(SQLiteError) { try transaction.commit() }
    func rollBack() { transaction.rollBack() }

    // MARK: - Space

    func pages() throws(SQLiteError) -> Int { try pageCount.single() }
    func freePages() throws(SQLiteError) -> Int { try freePageCount.single() }

    /// Removes free pages at the file's end.
    func vacuum(_ pages: Int) throws(SQLiteError) {
        transaction.require()
        try connection.execute("PRAGMA incremental_vacuum(\(pages))")
    }

    /// True if a row or a dead letter has such a number.
    func hasAny(upTo number: Int64) throws(SQLiteError) -> Bool {
        try connection.integer(
            """
            SELECT EXISTS (SELECT 1 FROM rows WHERE id <= \(number))
                OR EXISTS (SELECT 1 FROM dead WHERE id <= \(number))
            """
        ) != 0
    }
}

// MARK: - Opening

extension QueueDatabase {
    /// Keeps a database of an older version before it is changed. If it throws, the migration does
    /// not begin.
    typealias KeepOlder = (Connection, _ schema: Int) throws(SQLiteError) -> Void

    /// Opens or creates a database of this version. Also returns the version that it found, 0 for a
    /// new database.
    static func connect(
        _ path: String,
        _ configuration: QueueConfiguration,
        _ steps: [String] = QueueSchema.migrations,
        keepingOlder keep: KeepOlder = { _, _ in }
    ) throws(SQLiteError) -> (connection: Connection, found: Int) {
        let connection = try Connection(path, .readWrite)
        let version = Int(try connection.integer("PRAGMA user_version"))
        guard version <= steps.count else {
            throw .newerSchema(version, known: steps.count)
        }
        if version == 0 {
            try Pragmas.create(on: connection, pageBytes: configuration.tuning.pageBytes)
        } else if try connection.integer("PRAGMA application_id") != QueueSchema.applicationID {
            throw .damage("the file is not a Sluice queue")
        } else {
            try QueueSchema.expectColumns(of: version, steps, in: connection)
        }
        try Pragmas.owner(
            connection,
            configuration.commitLog == nil ? configuration.durability : nil,
            configuration.tuning
        )
        if version > 0, version < steps.count { try keep(connection, version) }
        try QueueSchema.migrate(connection, from: version, steps)
        return (connection, version)
    }
}
