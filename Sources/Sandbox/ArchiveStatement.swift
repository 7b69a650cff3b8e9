import CSQLite

/// Tells SQLite to copy what is bound.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

/// A prepared statement, used over and over. Parameters and columns count from 0.
final class ArchiveStatement {
    private let handle: OpaquePointer
    private let sql: String

    init(_ handle: OpaquePointer, _ sql: String) {
        self.handle = handle
        self.sql = sql
    }

    deinit { sqlite3_finalize(handle) }

    func bind(_ index: Int32, _ value: Int64?) {
        if let value {
            sqlite3_bind_int64(handle, index + 1, value)
        } else {
            sqlite3_bind_null(handle, index + 1)
        }
    }

    func bind(_ index: Int32, _ text: String?) {
        guard let text else { return bind(index, nil as Int64?) }
        sqlite3_bind_text(handle, index + 1, text, Int32(text.utf8.count), copied)
    }

    func bind(_ index: Int32, copying text: [UInt8]) {
        text.withUnsafeBytes { bind(index, $0, copied) }
    }

    /// The text must stay where it is until the statement has run.
    func bind(_ index: Int32, borrowing text: UnsafeRawBufferPointer) {
        bind(index, text, nil)
    }

    private func bind(
        _ index: Int32,
        _ text: UnsafeRawBufferPointer,
        _ destructor: sqlite3_destructor_type?
    ) {
        sqlite3_bind_text(
            handle,
            index + 1,
            text.bindMemory(to: CChar.self).baseAddress,
            Int32(text.count),
            destructor
        )
    }

    /// Runs a statement that gives no rows.
    func run() throws(DatabaseError) {
        _ = try step()
        sqlite3_reset(handle)
    }

    /// The next row is there: read its columns before the next step. False after the last one; then
    /// the statement is ready to be used again.
    func step() throws(DatabaseError) -> Bool {
        let code = sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        default:
            let reason = String(cString: sqlite3_errmsg(sqlite3_db_handle(handle)))
            sqlite3_reset(handle)
            throw DatabaseError(code: code, reason: reason, action: sql)
        }
    }

    /// To stop before the last row.
    func reset() { sqlite3_reset(handle) }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func optionalInteger(_ column: Int32) -> Int64? {
        sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : integer(column)
    }

    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    /// Valid until the next step.
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_text(handle, column)
        let count = Int(sqlite3_column_bytes(handle, column))
        return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
    }
}
