/// The files that SQLite puts beside a database.
enum SQLiteCompanions {
    /// Those that are not there: whoever opens the database while nobody else can, takes them away again.
    static func missing(of database: String) -> [String] {
        ["-wal", "-shm"].map { database + $0 }.filter { fileSize($0) == nil }
    }
}
