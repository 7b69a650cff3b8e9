import Queue
import SQLite

@testable import SQLiteQueue

/// What can be read of a table `rows`.
struct DamagedRows {
    private let file: DamagedFile
    private let connection: Connection

    /// One that is whole, of values of `i` from 1 on.
    static func make(
        _ path: String,
        count: Int,
        key: String,
        payload: String
    ) throws -> Connection {
        let connection = try Connection(path, .readWrite)
        try connection.execute(
            """
            PRAGMA page_size = \(QueueTuning().pageBytes);
            CREATE TABLE rows (id INTEGER PRIMARY KEY, payload BLOB);
            WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO rows SELECT \(key), \(payload) FROM n
            """
        )
        return connection
    }

    init(_ path: String) throws {
        file = DamagedFile(path)
        connection = try Connection(path, .readOnly)
        try connection.tolerateDamage()
    }

    func readable() throws -> (keys: [Int64], hasGaps: Bool) {
        var table = try DamagedTable(connection, in: file, "id, payload", of: "rows", key: "id")
        var keys: [Int64] = []
        try table.read(0...Int64.max) { keys.append($0.integer(0)) }
        return (keys, table.hasGaps)
    }

    /// As far as it goes from the first on.
    func inOrder() throws -> [Int64] {
        let all = try connection.prepare("SELECT id, payload FROM rows NOT INDEXED ORDER BY id")
        var keys: [Int64] = []
        while let isRow = try? all.step(), isRow, all.integer(0) > keys.last ?? -1 {
            keys.append(all.integer(0))
        }
        return keys
    }
}
