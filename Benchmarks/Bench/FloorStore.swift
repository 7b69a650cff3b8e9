import CSQLite

/// SQLite at its simplest: one table and one connection, with the settings of the gateway's queue.
final class FloorStore {
    private var database: OpaquePointer?
    private var insertion: OpaquePointer?
    private var reading: OpaquePointer?
    private var deletion: OpaquePointer?

    init(path: String) {
        check(sqlite3_open(path, &database))
        run("PRAGMA page_size=16384")
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=FULL")
        run("CREATE TABLE rows(id INTEGER PRIMARY KEY, raw INTEGER, payload BLOB)")
        insertion = prepare("INSERT INTO rows(raw, payload) VALUES(?, ?)")
        reading = prepare("SELECT id, raw, payload FROM rows ORDER BY id")
        deletion = prepare("DELETE FROM rows WHERE id <= ?")
    }

    func run(_ statement: String) {
        check(sqlite3_exec(database, statement, nil, nil, nil))
    }

    func insert(_ payload: [UInt8], rawBytes: Int) {
        payload.withUnsafeBytes { bytes in
            sqlite3_bind_int64(insertion, 1, Int64(rawBytes))
            sqlite3_bind_blob64(insertion, 2, bytes.baseAddress, UInt64(bytes.count), nil)
            check(sqlite3_step(insertion))
            sqlite3_reset(insertion)
        }
    }

    func readAll(_ body: (_ block: [UInt8], _ rawBytes: Int) -> Void) -> Int64 {
        var last: Int64 = 0
        while sqlite3_step(reading) == SQLITE_ROW {
            last = sqlite3_column_int64(reading, 0)
            let block = UnsafeRawBufferPointer(
                start: sqlite3_column_blob(reading, 2),
                count: Int(sqlite3_column_bytes(reading, 2))
            )
            body(Array(block), Int(sqlite3_column_int64(reading, 1)))
        }
        sqlite3_reset(reading)
        return last
    }

    func delete(through id: Int64) {
        sqlite3_bind_int64(deletion, 1, id)
        check(sqlite3_step(deletion))
        sqlite3_reset(deletion)
    }

    private func prepare(_ text: String) -> OpaquePointer? {
        var statement: OpaquePointer?
        check(sqlite3_prepare_v2(database, text, -1, &statement, nil))
        return statement
    }

    private func check(_ code: CInt) {
        guard code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW else {
            fatalError("SQLite: \(String(cString: sqlite3_errmsg(database)))")
        }
    }
}
