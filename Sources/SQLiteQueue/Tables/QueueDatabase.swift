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
        streams = try StreamTable(transaction)
        rows = try RowTable(transaction)
        packets = try PacketTable(transaction)
        ledgers = try LedgerTable(transaction)
        intake = try IntakeTable(transaction)
        settings = try SettingTable(transaction)
        repeats = try RepeatTable(transaction)
        dead = try DeadTable(transaction)
        decisions = try DecisionTable(transaction)
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

    // MARK: - Opening

    /// Keeps an older version's database before it is changed. If it throws, nothing is migrated.
    typealias KeepOlder = (Connection, _ schema: Int) throws(SQLiteError) -> Void

    /// Opens or creates a database of this version. Also returns the version found, 0 if new.
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

/// The transaction that all writes to a database belong to.
final class WriteTransaction {
    private let beginOne: Statement
    private let commitOne: Statement
    private let rollBackOne: Statement
    let connection: Connection
    /// nil: the database itself is what lasts.
    private let log: (any ChangeLog)?
    private var recorder: ChangeRecorder?
    private(set) var isOpen = false

    init(_ connection: Connection, log: (any ChangeLog)? = nil) throws(SQLiteError) {
        self.connection = connection
        self.log = log
        beginOne = try connection.prepare("BEGIN IMMEDIATE")
        commitOne = try connection.prepare("COMMIT")
        rollBackOne = try connection.prepare("ROLLBACK")
    }

    /// Begins a transaction unless one is open already. Called before each write.
    func begin() throws(SQLiteError) {
        guard !isOpen else { return }
        if log != nil { recorder = try ChangeRecorder(connection) }
        try beginOne.run()
        isOpen = true
    }

    func prepare(_ sql: String) throws(SQLiteError) -> Statement { try connection.prepare(sql) }

    /// A write outside a transaction would be durable alone: a crash right after it would leave
    /// rows that no ledger counts, or packets without rows.
    func require() {
        precondition(isOpen, "a write of the queue outside of a transaction")
    }

    /// Runs a statement that writes. Returns the number of rows that it changed.
    @discardableResult
    func run(_ statement: Statement) throws(SQLiteError) -> Int {
        require()
        return try statement.run()
    }

    /// Runs one with a large value: see `Statement`.
    func run(_ statement: Statement, _ index: CInt, _ bytes: [UInt8]) throws(SQLiteError) {
        require()
        try statement.run(index, bytes)
    }

    /// With full durability, or with a commit log, all that was written is on stable storage
    /// afterwards.
    func commit() throws(SQLiteError) {
        guard isOpen else { return }
        if let log, let recorder {
            let changes = try recorder.changes()
            // Pages may have moved although no row is different.
            if !changes.isEmpty { try log.publish(changes) }
        }
        try commitOne.run()
        isOpen = false
        recorder = nil
        log?.committed()
    }

    func rollBack() {
        guard isOpen else { return }
        isOpen = false
        recorder = nil
        // After some failures SQLite has rolled back by itself; then this statement fails.
        _ = try? rollBackOne.run()
    }
}

/// Makes transactions durable in place of the database, before the database commits them.
protocol ChangeLog: AnyObject {
    /// Appends the changes of a transaction durably. If it throws, the log may have them or not:
    /// the caller closes the store and opens it again from the log.
    func publish(_ changes: [UInt8]) throws(SQLiteError)

    /// The database has committed. Also called if nothing was published.
    func committed()
}

/// The settings of the queue's database, each with its reason.
enum Pragmas {
    /// These work only before the first table exists; afterwards they are part of the file.
    static func create(on connection: Connection, pageBytes: Int) throws(SQLiteError) {
        try connection.execute("PRAGMA page_size = \(pageBytes)")
        // An incremental vacuum gives pages of an outage back in steps, without rewriting the file.
        try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    }

    /// No durability: a commit log has what the database has.
    static func owner(
        _ connection: Connection,
        _ durability: Durability?,
        _ tuning: QueueTuning
    ) throws(SQLiteError) {
        // One sequential write and one sync per commit, and readers that never block the owner.
        let mode = try connection.text("PRAGMA journal_mode = WAL")
        guard mode == "wal" else {
            throw .unsuitable("the file system cannot hold a log (\(mode))")
        }
        switch durability {
        case .full:
            // SQLite syncs the log in each commit. Only after that may a 2xx be sent.
            try connection.execute("PRAGMA synchronous = FULL")
        case .normal:
            // SQLite syncs the log only before a checkpoint. Logs survive a crash, not a power cut.
            try connection.execute("PRAGMA synchronous = NORMAL")
        case nil:
            try connection.execute("PRAGMA synchronous = OFF")
        }
        // Debian's default overwrites deleted content with zeroes: each payload once more on the
        // disk.
        try connection.execute("PRAGMA secure_delete = OFF")
        // Holds the pages of one transaction and those that a packet's deletion walks through.
        try connection.execute("PRAGMA cache_size = -\(tuning.cacheBytes / 1024)")
        // A read error through a memory map is a SIGBUS, not an error value.
        try connection.execute("PRAGMA mmap_size = 0")
        // A checkpoint within a commit would delay its callers. The owner runs it after its
        // callbacks. The hook of `watchLog` replaces the automatic one.
        try connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.watchLog()
        // The log keeps its space: overwriting it in place makes a commit sync only data. When it
        // starts anew, SQLite cuts off what lies beyond twice the longest round.
        try connection.execute("PRAGMA journal_size_limit = \(2 * tuning.longLogBytes)")
        // SQLite finds a damaged page when it reads the page, before the damage does harm.
        try connection.execute("PRAGMA cell_size_check = ON")
    }

    /// For the restore from a commit log.
    static func scratch(_ connection: Connection) throws(SQLiteError) {
        try connection.execute("PRAGMA journal_mode = WAL")
        try connection.execute("PRAGMA synchronous = OFF")
    }

    static func reader(_ connection: Connection) throws(SQLiteError) {
        // This is a second safeguard: the file is open read-only already.
        try connection.execute("PRAGMA query_only = ON")
        try connection.execute("PRAGMA mmap_size = 0")
        // Each payload is read only once.
        try connection.execute("PRAGMA cache_size = -1024")
    }
}
