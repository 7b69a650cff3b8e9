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
        ages: AgeBasis? = nil
    ) throws(SQLiteError) -> (OpenStore, Recovery) {
        let (connection, isNew) = try connect(path, configuration)
        let database: QueueDatabase
        do throws(SQLiteError) {
            database = try QueueDatabase(connection, path: path)
        } catch {
            // Our own statements do not fit its tables.
            throw error.kind == .full || isNew ? error : .damage("\(error)")
        }
        let store = OpenStore(database, configuration, now: now)
        return (store, try store.recover(handed: handed, ages: ages))
    }

    /// Opens or creates a database of this version.
    static func connect(
        _ path: String,
        _ configuration: QueueConfiguration
    ) throws(SQLiteError) -> (connection: Connection, isNew: Bool) {
        let connection = try Connection(path, .readWrite)
        let version = Int(try connection.integer("PRAGMA user_version"))
        guard version <= Schema.migrations.count else { throw .newerSchema(version) }
        if version == 0 {
            try Pragmas.create(on: connection, pageBytes: configuration.tuning.pageBytes)
        } else if try connection.integer("PRAGMA application_id") != Schema.applicationID {
            throw .damage("the file is not a Sluice queue")
        }
        try Pragmas.owner(connection, configuration.durability, configuration.tuning)
        try Schema.migrate(connection, from: version)
        return (connection, version == 0)
    }
}
