import SQLite

/// The transaction that all writes to a database belong to.
final class WriteTransaction {
    private let beginOne: Statement
    private let commitOne: Statement
    private let rollBackOne: Statement
    private let connection: Connection
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

    /// Stops the process unless a transaction is open. A write outside a transaction would be
    /// durable alone: a crash right after it would leave rows that no ledger counts, or packets
    /// without rows.
    func require() {
        precondition(isOpen, "a write of the queue outside of a transaction")
    }

    /// Commits. With full durability, or with a commit log, everything written so far is on stable
    /// storage when it returns.
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
