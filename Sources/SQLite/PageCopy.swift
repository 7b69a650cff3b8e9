import CSQLite

extension Connection {
    private static let pagesAtOnce: CInt = 256

    /// Copies the whole database into another one, page by page, as it is in this connection's
    /// transaction or, without one, when the copy begins. Ends early when `shouldContinue` returns
    /// false.
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
