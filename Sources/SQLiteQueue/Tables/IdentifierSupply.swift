import SQLite

/// Numbers for streams, rows, packets, requests and dead letters. A number is never given out
/// twice, even if everything was deleted and the process started again. The supply reserves a
/// million numbers at a time on disk, so it writes rarely instead of once per transaction.
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
