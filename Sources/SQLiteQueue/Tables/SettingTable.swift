import SQLite

/// The table of other values that the queue keeps: numbers and bytes by name.
final class SettingTable {
    private let connection: Connection
    private let transaction: WriteTransaction
    private let saveOne: Statement
    private let removeOne: Statement

    init(
        _ connection: Connection,
        _ transaction: WriteTransaction
    ) throws(SQLiteError) {
        self.transaction = transaction
        self.connection = connection
        saveOne = try connection.prepare("INSERT OR REPLACE INTO settings VALUES (?, ?)")
        removeOne = try connection.prepare("DELETE FROM settings WHERE name = ?")
    }

    func save(_ value: Int64, as name: String) throws(SQLiteError) {
        transaction.require()
        saveOne.bind(1, name)
        saveOne.bind(2, value)
        try saveOne.run()
    }

    func save(_ value: [UInt8], as name: String) throws(SQLiteError) {
        transaction.require()
        saveOne.bind(1, name)
        saveOne.bind(2, value)
        try saveOne.run()
    }

    func remove(_ name: String) throws(SQLiteError) {
        transaction.require()
        removeOne.bind(1, name)
        try removeOne.run()
    }

    /// A saved text; nil if none was saved.
    func text(_ name: String) throws(SQLiteError) -> String? {
        try texts(name).first { $0.name == name }?.value
    }

    /// Saved texts whose names begin so.
    func texts(_ prefix: String) throws(SQLiteError) -> [(name: String, value: String)] {
        let all = try connection.prepare(
            "SELECT name, value FROM settings WHERE name >= ?1 AND name < ?1 || char(1114111)"
        )
        defer { all.reset() }
        all.bind(1, prefix)
        var found: [(String, String)] = []
        while try all.step() {
            found.append((all.text(0), String(decoding: all.bytes(1), as: UTF8.self)))
        }
        return found
    }

    /// A saved number; 0 if none was saved.
    func integer(_ name: String) throws(SQLiteError) -> Int64 {
        try connection.integer(
            "SELECT coalesce((SELECT value FROM settings WHERE name = '\(name)'), 0)"
        )
    }
}
