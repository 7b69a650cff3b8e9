import CSQLite

/// What SQLite says when it cannot do as asked.
package struct DatabaseError: Error, Equatable, CustomStringConvertible {
    package let code: Int32
    package let reason: String
    /// What it was asked to do.
    package let action: String

    package var description: String { "\(action): \(reason) (SQLite \(code))" }
}

/// One SQLite connection. Whoever holds it is alone with it.
final class Database {
    private let handle: OpaquePointer

    /// Opens this file; nil stands for a database in memory.
    init(path: String?) throws(DatabaseError) {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let code = sqlite3_open_v2(path ?? ":memory:", &handle, flags, nil)
        guard code == SQLITE_OK, let handle else {
            let reason = String(cString: sqlite3_errmsg(handle))
            // A handle comes even with a failure.
            sqlite3_close_v2(handle)
            throw DatabaseError(code: code, reason: reason, action: "open \(path ?? "memory")")
        }
        self.handle = handle
    }

    // The statements may end later than the connection.
    deinit { sqlite3_close_v2(handle) }

    func run(_ sql: String) throws(DatabaseError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code, sql) }
    }

    func prepare(_ sql: String) throws(DatabaseError) -> ArchiveStatement {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(
            handle,
            sql,
            -1,
            UInt32(SQLITE_PREPARE_PERSISTENT),
            &statement,
            nil
        )
        guard code == SQLITE_OK, let statement else { throw error(code, sql) }
        return ArchiveStatement(statement, sql)
    }

    private func error(_ code: Int32, _ action: String) -> DatabaseError {
        DatabaseError(code: code, reason: String(cString: sqlite3_errmsg(handle)), action: action)
    }
}
