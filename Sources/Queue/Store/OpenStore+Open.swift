import SQLite
import System

extension OpenStore {
    /// Opens the database, brings it to this version and reads what the owner must know. Of the packets,
    /// delivery holds those `handed` already; the others are handed over first. Ages are known in this life already
    /// unless it begins.
    static func open(
        _ path: String,
        _ configuration: QueueConfiguration,
        now: @escaping @Sendable () -> WallTime,
        handed: Set<Int64>,
        ages: AgeBasis? = nil,
        keepingOlder keep: KeepOlder = { _, _ in }
    ) throws(SQLiteError) -> (OpenStore, Recovery) {
        let (connection, found) = try connect(path, configuration, keepingOlder: keep)
        let database: QueueDatabase
        do throws(SQLiteError) {
            database = try QueueDatabase(connection, path: path)
        } catch {
            // A table of ours is missing. Any other error may pass.
            throw error.lacksTable && found > 0 ? .damage("\(error)") : error
        }
        let store = OpenStore(database, configuration, now: now)
        var recovery = try store.recover(handed: handed, ages: ages)
        recovery.schemaBefore = found
        return (store, recovery)
    }

    /// What is done with a database of an older version before it is changed; when it fails nothing is.
    typealias KeepOlder = (Connection, _ schema: Int) throws(SQLiteError) -> Void

    /// Opens or creates a database of this version. Returns also the version that was found, 0 for a new one.
    static func connect(
        _ path: String,
        _ configuration: QueueConfiguration,
        keepingOlder keep: KeepOlder = { _, _ in }
    ) throws(SQLiteError) -> (connection: Connection, found: Int) {
        let connection = try Connection(path, .readWrite)
        let version = Int(try connection.integer("PRAGMA user_version"))
        guard version <= QueueSchema.migrations.count else {
            throw .newerSchema(version, known: QueueSchema.migrations.count)
        }
        if version == 0 {
            try Pragmas.create(on: connection, pageBytes: configuration.tuning.pageBytes)
        } else if try connection.integer("PRAGMA application_id") != QueueSchema.applicationID {
            throw .damage("the file is not a Sluice queue")
        }
        try Pragmas.owner(connection, configuration.durability, configuration.tuning)
        if version > 0, version < QueueSchema.migrations.count { try keep(connection, version) }
        try QueueSchema.migrate(connection, from: version)
        return (connection, version)
    }
}
