import SQLite

/// Rebuilds the indexes of a database whose tables are undamaged. Then nothing needs to be copied.
enum IndexRepair {
    /// SQLite sorts a whole index in memory.
    private static let rowsMax: Int64 = 1_000_000

    /// SQLite's complaints about an index that disagrees with its table. Every other one is about
    /// pages, and a write to a damaged page may overwrite another page.
    private static let complaints = [
        " missing from index ", "wrong # of entries in index ", "non-unique entry in index ",
        " values differ from index ",
    ]

    enum Outcome: Equatable {
        case rebuilt
        case sound
        /// More than indexes is damaged, as SQLite's check says.
        case damaged(String)
        case tooManyRows
    }

    /// Returns false if the indexes are sound. Throws if more is damaged, or one of a large table.
    static func rebuild(_ connection: Connection) throws(SQLiteError) -> Bool {
        switch try run(connection) {
        case .rebuilt: return true
        case .sound: return false
        case .damaged(let line): throw .damage(line)
        case .tooManyRows:
            let inTable = try connection.integer("SELECT sum(logs) FROM rows NOT INDEXED")
            let inIndex = try connection.integer(
                "SELECT sum(logs) FROM rows INDEXED BY rows_by_stream"
            )
            guard inTable == inIndex else {
                throw .damage("an index counts \(inIndex) logs, its table \(inTable)")
            }
            return false
        }
    }

    /// Changes nothing unless indexes alone are damaged.
    static func run(_ connection: Connection) throws(SQLiteError) -> Outcome {
        guard try connection.integer("SELECT count(*) FROM rows NOT INDEXED") <= rowsMax,
            try connection.integer("SELECT count(*) FROM dead NOT INDEXED") <= rowsMax
        else { return .tooManyRows }
        let found = try check(connection)
        if found == .rebuilt { try connection.execute("REINDEX") }
        return found
    }

    private static func check(_ connection: Connection) throws(SQLiteError) -> Outcome {
        let check = try connection.prepare("PRAGMA integrity_check(\(4 * rowsMax))")
        defer { check.reset() }
        var found = Outcome.sound
        while try check.step() {
            let line = check.text(0)
            guard line != "ok" else { return .sound }
            guard complaints.contains(where: { line.contains($0) }) else { return .damaged(line) }
            found = .rebuilt
        }
        return found
    }
}
