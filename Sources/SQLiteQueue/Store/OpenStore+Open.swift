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
        keepingOlder keep: QueueDatabase.KeepOlder = { _, _ in }
    ) throws(SQLiteError) -> (OpenStore, Recovery) {
        let (connection, found) = try QueueDatabase.connect(path, configuration, keepingOlder: keep)
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
}
