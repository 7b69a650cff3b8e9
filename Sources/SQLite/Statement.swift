import CSQLite

/// A prepared statement that is reused.
package final class Statement {
    private let handle: OpaquePointer
    private let database: OpaquePointer
    package let sql: String

    init(_ handle: OpaquePointer, of database: OpaquePointer, sql: String) {
        self.handle = handle
        self.database = database
        self.sql = sql
    }

    deinit { sqlite3_finalize(handle) }

    // MARK: - Binding

    package func bind(_ index: CInt, _ value: Int64) {
        check(sqlite3_bind_int64(handle, index, value))
    }

    /// nil binds NULL.
    package func bind(_ index: CInt, _ value: Int64?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    package func bindNull(_ index: CInt) {
        check(sqlite3_bind_null(handle, index))
    }

    package func bind(_ index: CInt, _ text: String) {
        var text = text
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                check(
                    sqlite3_bind_text64(
                        handle,
                        index,
                        characters.baseAddress,
                        UInt64(characters.count),
                        copied,
                        UInt8(SQLITE_UTF8)
                    )
                )
            }
        }
    }

    /// nil binds NULL.
    package func bind(_ index: CInt, _ text: String?) {
        guard let text else { return check(sqlite3_bind_null(handle, index)) }
        bind(index, text)
    }

    /// Binds UTF-8 without copying it; the text must stay in place until the statement has run.
    package func bind(_ index: CInt, borrowingText text: UnsafeRawBufferPointer) {
        check(
            sqlite3_bind_text64(
                handle,
                index,
                text.bindMemory(to: CChar.self).baseAddress,
                UInt64(text.count),
                nil,
                UInt8(SQLITE_UTF8)
            )
        )
    }

    /// For small values: SQLite copies them.
    package func bind(_ index: CInt, _ bytes: [UInt8]) {
        bytes.withUnsafeBytes { buffer in
            check(
                sqlite3_bind_blob64(
                    handle,
                    index,
                    buffer.baseAddress,
                    UInt64(buffer.count),
                    copied
                )
            )
        }
    }

    // A bind fails only for a wrong index, a value above a gigabyte, or lack of memory.
    private func check(_ code: CInt) {
        precondition(code == SQLITE_OK, "a value does not fit its statement")
    }

    // MARK: - Running

    /// Advances to the next row. Returns false after the last row and resets the statement.
    package func step() throws(SQLiteError) -> Bool {
        let code = sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        default:
            let message = String(cString: sqlite3_errmsg(database))
            sqlite3_reset(handle)
            throw SQLiteError(code: code, message: message, sql: sql)
        }
    }

    /// Ends a statement before its last row.
    package func reset() {
        sqlite3_reset(handle)
    }

    /// Runs a statement that returns no rows; returns the number of rows it changed.
    @discardableResult
    package func run() throws(SQLiteError) -> Int {
        _ = try step()
        return Int(sqlite3_changes64(database))
    }

    /// The first column of the only row; zero without a row.
    package func single() throws(SQLiteError) -> Int {
        defer { reset() }
        return try step() ? Int(integer(0)) : 0
    }

    /// Runs the statement with a large value that SQLite reads in place, without a copy.
    package func run(_ index: CInt, _ bytes: [UInt8]) throws(SQLiteError) {
        let failure: SQLiteError? = bytes.withUnsafeBytes { buffer -> SQLiteError? in
            check(
                sqlite3_bind_blob64(handle, index, buffer.baseAddress, UInt64(buffer.count), nil)
            )
            defer { sqlite3_bind_null(handle, index) }
            do throws(SQLiteError) {
                try run()
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    // MARK: - Columns of the current row

    package var columns: CInt { sqlite3_column_count(handle) }

    package func isNull(_ column: CInt) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    package func integer(_ column: CInt) -> Int64 {
        sqlite3_column_int64(handle, column)
    }

    package func text(_ column: CInt) -> String {
        String(decoding: bytes(column), as: UTF8.self)
    }

    package func optionalInteger(_ column: CInt) -> Int64? {
        isNull(column) ? nil : integer(column)
    }

    /// The text's UTF-8, valid until the next step.
    package func borrowedText(_ column: CInt) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_text(handle, column)
        let count = Int(sqlite3_column_bytes(handle, column))
        return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
    }

    package func bytes(_ column: CInt) -> [UInt8] {
        // SQLite wants this order: first the pointer, which may convert the value, then the length.
        let start = sqlite3_column_blob(handle, column)
        let count = Int(sqlite3_column_bytes(handle, column))
        return [UInt8](UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }
}

// SQLITE_TRANSIENT: Swift does not import the macro.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
