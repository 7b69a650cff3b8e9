import CSQLite

/// Records what a transaction changes, as a *patchset*: whole rows for inserts, changed columns for
/// updates, keys for deletes, but no changes of the schema. Applied to a copy of the database
/// before it, it gives the database after it. Only tables with a primary key are recorded.
package final class ChangeRecorder {
    private let session: OpaquePointer
    /// The session must end before its connection.
    private let connection: Connection

    /// Records from now on.
    package init(_ connection: Connection) throws(SQLiteError) {
        self.connection = connection
        session = try connection.beginSession()
    }

    deinit { sqlite3session_delete(session) }

    /// The changes so far. Empty if nothing is different now.
    package func changes() throws(SQLiteError) -> [UInt8] {
        var count: CInt = 0
        var start: UnsafeMutableRawPointer?
        let code = sqlite3session_patchset(session, &count, &start)
        defer { sqlite3_free(start) }
        guard code == SQLITE_OK else {
            throw SQLiteError(code: code, message: "changes cannot be recorded", sql: "patchset")
        }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(count)))
    }
}

extension Connection {
    fileprivate func beginSession() throws(SQLiteError) -> OpaquePointer {
        var session: OpaquePointer?
        var code = sqlite3session_create(handle, "main", &session)
        if code == SQLITE_OK { code = sqlite3session_attach(session, nil) }
        guard code == SQLITE_OK, let session else {
            sqlite3session_delete(session)
            throw SQLiteError(code: code, message: "changes cannot be recorded", sql: "session")
        }
        return session
    }

    /// Applies recorded changes. If the database is not as it was before them, throws `damage`, and
    /// the caller rolls back.
    package func apply(_ changes: [UInt8]) throws(SQLiteError) {
        let code = changes.withUnsafeBytes { bytes in
            sqlite3changeset_apply(
                handle,
                CInt(bytes.count),
                // SQLite only reads them.
                UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                nil,
                { _, _, _ in SQLITE_CHANGESET_ABORT },
                nil
            )
        }
        switch code {
        case SQLITE_OK: return
        case SQLITE_ABORT: throw .damage("recorded changes do not fit the database")
        default:
            throw SQLiteError(
                code: code,
                message: "recorded changes cannot be applied",
                sql: "apply"
            )
        }
    }
}
