import CSQLite

/// One SQLite connection, without SQLite's own locks: only one thread at a time may use it.
package final class Connection {
    package enum Access {
        case readWrite
        case readOnly
        /// Data that may be lost: SQLite checkpoints on its own, and pragmas may turn safety off.
        case scratch
    }

    let handle: OpaquePointer

    /// Kept alive for SQLite's callback; see `endUnless`.
    private var wish: Wish?

    /// Pages in the WAL after the last commit, as SQLite reported to its hook.
    package private(set) var walPages = 0

    package init(_ path: String, _ access: Access) throws(SQLiteError) {
        let how =
            switch access {
            case .readWrite, .scratch: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .readOnly: SQLITE_OPEN_READONLY
            }
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(
            path,
            &opened,
            how | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
            nil
        )
        guard code == SQLITE_OK, let opened else {
            let message = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            // A failed open returns a handle too, and it must be closed.
            sqlite3_close_v2(opened)
            throw SQLiteError(code: code, message: message, sql: "open \(path)")
        }
        handle = opened
        // A damaged or planted schema must not run code.
        _ = sluice_sqlite_switch(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        // Savepoints and sorting need temporary files, and a container may have no directory for
        // them.
        try execute("PRAGMA temp_store = MEMORY")
        guard access != .scratch else { return }
        // The owner checkpoints; no connection does it on its own, not even while closing.
        _ = sluice_sqlite_switch(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        _ = sluice_sqlite_switch(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        // An operator's sqlite3 shell may hold a lock briefly.
        sqlite3_busy_timeout(handle, Self.busyMilliseconds)
    }

    private static let busyMilliseconds: CInt = 5_000

    deinit {
        // Statements may outlive the call; the files close with the last one.
        sqlite3_close_v2(handle)
    }

    /// Makes a database readable whose file is too short. Writes nothing to it.
    package func tolerateDamage() throws(SQLiteError) {
        try execute("PRAGMA query_only = ON")
        _ = sluice_sqlite_switch(handle, SQLITE_DBCONFIG_DEFENSIVE, 0)
        _ = sluice_sqlite_switch(handle, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)
    }

    /// Asks every hundred steps of a statement, and ends it once the answer is false.
    package func endUnless(_ isWanted: @escaping () -> Bool) {
        let wish = Wish(isWanted)
        self.wish = wish
        sqlite3_progress_handler(
            handle,
            100,
            { place in
                guard let place else { return 0 }
                return Unmanaged<Wish>.fromOpaque(place).takeUnretainedValue().isWanted() ? 0 : 1
            },
            Unmanaged.passUnretained(wish).toOpaque()
        )
    }

    /// Counts the WAL's pages after each commit, with the hook of SQLite's automatic checkpoint.
    /// The connection must not move while it is open.
    package func watchLog() {
        sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().walPages =
                    Int(pages)
                return SQLITE_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    package func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(
            handle,
            sql,
            -1,
            CUnsignedInt(SQLITE_PREPARE_PERSISTENT),
            &statement,
            nil
        )
        guard code == SQLITE_OK, let statement else { throw error(code, sql) }
        return Statement(statement, of: handle, sql: sql)
    }

    /// Runs one or more statements whose rows are not needed.
    package func execute(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code, sql) }
    }

    /// The first column of the first row, as pragmas answer; zero without a row.
    package func integer(_ sql: String) throws(SQLiteError) -> Int64 {
        let statement = try prepare(sql)
        guard try statement.step() else { return 0 }
        return statement.integer(0)
    }

    package func text(_ sql: String) throws(SQLiteError) -> String {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(0) : ""
    }

    /// The whole content of a small database.
    package func content() throws(SQLiteError) -> [UInt8] {
        var count: Int64 = 0
        guard let start = sqlite3_serialize(handle, "main", &count, 0) else {
            throw error(SQLITE_NOMEM, "serialize")
        }
        defer { sqlite3_free(start) }
        return Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }

    private func error(_ code: CInt, _ sql: String) -> SQLiteError {
        SQLiteError(code: code, message: String(cString: sqlite3_errmsg(handle)), sql: sql)
    }

    // MARK: - The WAL

    /// The number of committed frames, from the shared index, which exists only inside a
    /// transaction.
    package func committedFrames() -> Int {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK,
            let map = file?.pointee.pMethods?.pointee.xShmMap
        else { return 0 }
        var index: UnsafeMutableRawPointer?
        // The index's first part is mapped already: see https://sqlite.org/walformat.html.
        guard map(file, 0, 1 << 15, 0, &index) == SQLITE_OK, let index else { return 0 }
        return Int(index.load(fromByteOffset: 16, as: UInt32.self))
    }

    // MARK: - Checkpoints

    /// Moves the whole WAL into the database, and lets the closing connection remove it.
    package func finish() throws(SQLiteError) {
        guard try checkpoint(.truncate) == .nothing else {
            throw .unsuitable("another process reads the WAL, so it stays beside the database")
        }
        _ = sluice_sqlite_switch(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    }

    package enum Checkpoint {
        /// Moves as many pages as possible without waiting.
        case passive
        /// Also makes the next commit start the WAL anew, unless a reader uses it. Does not wait.
        case restart
        /// Also truncates the WAL file. Waits for readers as long as for any lock.
        case truncate
    }

    /// What remains in the WAL after a checkpoint.
    package enum LogRest: Equatable {
        case nothing
        /// A reader uses the WAL, so this many pages stay in it. All that could be moved are moved.
        case pages(Int)
        /// Another connection holds a lock that a checkpoint needs.
        case unknown
    }

    /// Copies the WAL's pages into the database and syncs it.
    @discardableResult
    package func checkpoint(_ kind: Checkpoint) throws(SQLiteError) -> LogRest {
        let mode =
            switch kind {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .restart: SQLITE_CHECKPOINT_RESTART
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        var inLog: CInt = -1
        var moved: CInt = -1
        if kind != .truncate { sqlite3_busy_timeout(handle, 0) }
        let code = sqlite3_wal_checkpoint_v2(handle, nil, mode, &inLog, &moved)
        if kind != .truncate { sqlite3_busy_timeout(handle, Self.busyMilliseconds) }
        let isBusy = code & 0xff == SQLITE_BUSY
        guard code == SQLITE_OK || isBusy else { throw error(code, "checkpoint") }
        // SQLite opens the WAL with the first transaction; before that there is no page count.
        guard inLog >= 0 else { return isBusy ? .unknown : .nothing }
        if inLog == 0 || (!isBusy && inLog == moved) {
            walPages = 0
            return .nothing
        }
        walPages = Int(inLog)
        return .pages(Int(inLog))
    }

    private static let pagesAtOnce: CInt = 256

    /// Copies the whole database page by page, as it is in this connection's transaction, or when
    /// the copy begins. Ends early when `shouldContinue` returns false.
    package func copy(
        into target: Connection,
        while shouldContinue: () -> Bool
    ) throws(SQLiteError) {
        guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
            throw target.lastError("copy")
        }
        var code = SQLITE_OK
        while code == SQLITE_OK, shouldContinue() {
            code = sqlite3_backup_step(backup, Self.pagesAtOnce)
        }
        // Reports the error of the last step.
        guard sqlite3_backup_finish(backup) == SQLITE_OK else { throw target.lastError("copy") }
    }

    private func lastError(_ what: String) -> SQLiteError {
        SQLiteError(
            code: sqlite3_extended_errcode(handle),
            message: String(cString: sqlite3_errmsg(handle)),
            sql: what
        )
    }
}

/// Holds the closure for SQLite's callback, at an address that does not change.
private final class Wish {
    let isWanted: () -> Bool

    init(_ isWanted: @escaping () -> Bool) { self.isWanted = isWanted }
}
