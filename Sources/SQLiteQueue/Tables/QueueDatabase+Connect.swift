import Queue
import SQLite

extension QueueDatabase {
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
