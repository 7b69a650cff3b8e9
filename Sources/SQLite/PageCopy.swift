import CSQLite

extension Connection {
    private static let pagesAtOnce: CInt = 256

    /// Copies the whole database into another one, page by page, as it is in this connection's transaction or, without
    /// one, when the copy begins. Returns false if it was not wanted any more.
    package func copy(
        into target: Connection,
        while isWanted: () -> Bool = { true }
    ) throws(SQLiteError) -> Bool {
        guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
            throw target.lastError("copy")
        }
        var code = SQLITE_OK
        var wanted = true
        while code == SQLITE_OK {
            wanted = isWanted()
            guard wanted else { break }
            code = sqlite3_backup_step(backup, Self.pagesAtOnce)
        }
        let end = sqlite3_backup_finish(backup)
        guard code == SQLITE_DONE || !wanted, end == SQLITE_OK || !wanted else {
            throw target.lastError("copy")
        }
        return wanted
    }

    private func lastError(_ what: String) -> SQLiteError {
        SQLiteError(
            code: sqlite3_extended_errcode(handle),
            message: String(cString: sqlite3_errmsg(handle)),
            sql: what
        )
    }
}
