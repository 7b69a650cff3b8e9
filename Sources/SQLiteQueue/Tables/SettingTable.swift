import SQLite

/// The table of other values that the queue keeps: numbers and bytes by name.
final class SettingTable {
    private let transaction: WriteTransaction
    private let saveOne: Statement
    private let removeOne: Statement

    init(_ transaction: WriteTransaction) throws(SQLiteError) {
        self.transaction = transaction
        saveOne = try transaction.prepare("INSERT OR REPLACE INTO settings VALUES (?, ?)")
        removeOne = try transaction.prepare("DELETE FROM settings WHERE name = ?")
    }

    func save(_ value: Int64, as name: String) throws(SQLiteError) {
        saveOne.bind(1, name)
        saveOne.bind(2, value)
        try transaction.run(saveOne)
    }

    func save(_ value: [UInt8], as name: String) throws(SQLiteError) {
        saveOne.bind(1, name)
        saveOne.bind(2, value)
        try transaction.run(saveOne)
    }

    func remove(_ name: String) throws(SQLiteError) {
        removeOne.bind(1, name)
        try transaction.run(removeOne)
    }

    /// A saved text; nil if none was saved.
    static func text(_ name: String, in connection: Connection) throws(SQLiteError) -> String? {
        let one = try connection.prepare("SELECT value FROM settings WHERE name = ?")
        one.bind(1, name)
        return try one.step() ? one.text(0) : nil
    }

    /// The saved values whose names begin so, by name, which comes without the prefix.
    static func values(
        _ prefix: String,
        in connection: Connection
    ) throws(SQLiteError) -> [(name: String, value: [UInt8])] {
        let all = try connection.prepare(
            """
            SELECT name, value FROM settings WHERE name >= ?1 AND name < ?1 || char(1114111)
            ORDER BY name
            """
        )
        all.bind(1, prefix)
        var found: [(name: String, value: [UInt8])] = []
        while try all.step() {
            found.append((String(all.text(0).dropFirst(prefix.count)), all.bytes(1)))
        }
        return found
    }

    /// A saved number; 0 if none was saved.
    func integer(_ name: String) throws(SQLiteError) -> Int64 {
        try transaction.connection.integer(
            "SELECT coalesce((SELECT value FROM settings WHERE name = '\(name)'), 0)"
        )
    }
}

/// Numbers for streams, rows, packets, requests and dead letters, never given out twice, not even
/// after a restart. Reserves a million at a time on disk, so it writes rarely.
struct IdentifierSupply {
    static let setting = "reserved_ids"
    private static let step: Int64 = 1_000_000

    private var next: Int64
    private var reserved: Int64

    /// - Parameter reserved: the highest number that may have been given out.
    init(after reserved: Int64) {
        next = reserved + 1
        self.reserved = reserved
    }

    /// The highest number that may be in use.
    static func highest(_ connection: Connection) throws(SQLiteError) -> Int64 {
        let highest = try connection.integer(
            """
            SELECT max(
                coalesce((SELECT value FROM settings WHERE name = '\(setting)'), 0),
                coalesce((SELECT max(id) FROM streams), 0),
                coalesce((SELECT max(id) FROM rows), 0),
                coalesce((SELECT max(number) FROM packets), 0),
                coalesce((SELECT max(number) FROM repeats), 0),
                coalesce((SELECT max(id) FROM dead), 0)
            )
            """
        )
        guard Plausible.counts.contains(highest) else {
            throw .damage("\(highest) cannot be a number that was given out")
        }
        return highest
    }

    /// The last number that was given out.
    var last: Int64 { next - 1 }

    /// Takes `count` consecutive numbers and returns the first.
    mutating func take(
        _ database: QueueDatabase,
        count: Int = 1
    ) throws(SQLiteError) -> Int64 {
        precondition(count > 0, "a number that is shared")
        let last = next + Int64(count) - 1
        if last > reserved {
            try database.write()
            try database.settings.save(last + Self.step, as: Self.setting)
            reserved = last + Self.step
        }
        defer { next = last + 1 }
        return next
    }
}
