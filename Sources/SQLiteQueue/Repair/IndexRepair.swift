import SQLite

/// Rebuilds the indexes of a database whose tables are undamaged. Then nothing needs to be copied.
enum IndexRepair {
    /// SQLite sorts a whole index in memory.
    private static let rowsMax: Int64 = 1_000_000

    /// The complaints of SQLite's check about an index that disagrees with its table. Every other complaint is about
    /// pages, and a write to a database with a damaged page may overwrite another page.
    private static let complaints = [
        " missing from index ", "wrong # of entries in index ", "non-unique entry in index ",
        " values differ from index ",
    ]

    /// Returns false and changes nothing if anything else is damaged.
    static func run(_ connection: Connection) throws(SQLiteError) -> Bool {
        guard try connection.integer("SELECT count(*) FROM rows NOT INDEXED") <= rowsMax,
            try connection.integer("SELECT count(*) FROM dead NOT INDEXED") <= rowsMax,
            try isOfIndexesAlone(connection)
        else { return false }
        try connection.execute("REINDEX")
        return true
    }

    private static func isOfIndexesAlone(_ connection: Connection) throws(SQLiteError) -> Bool {
        let check = try connection.prepare("PRAGMA integrity_check(\(4 * rowsMax))")
        defer { check.reset() }
        var isAny = false
        while try check.step() {
            let line = check.text(0)
            guard line != "ok", complaints.contains(where: { line.contains($0) }) else {
                return false
            }
            isAny = true
        }
        return isAny
    }
}
