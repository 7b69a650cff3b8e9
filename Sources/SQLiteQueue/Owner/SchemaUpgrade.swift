import Queue
import SQLite
import System

/// Keeps a copy of a database of an older schema before a migration.
struct SchemaUpgrade {
    let directory: DataDirectory
    let room: DiskRoom
    let journal: Journal
    let freeBytesMin: Int
    var target = QueueSchema.migrations.count

    /// Copies the database before the first change, because nothing leads back to an older schema.
    /// The copy stays until an operator deletes it. It replaces an earlier one, of a migration that
    /// did not begin or of a queue that went back to that version.
    func keepOlder(_ connection: Connection, _ schema: Int) throws(SQLiteError) {
        let copy = DatabaseCopy(to: directory.older(schema))
        copy.discard()
        let bytes = try DatabaseCopy.bytes(connection)
        // With less free space the queue would take no logs after the migration.
        let needed = bytes + min(freeBytesMin, 1 << 60)
        guard room.look() >= needed else {
            throw .noRoomToKeep(noRoom(schema, bytes: needed, free: room.freeBytes))
        }
        journal.info(
            "queue has an older schema and is copied before it is changed",
            ["schema": schema, "bytes": bytes]
        )
        do throws(SQLiteError) {
            try copy.write(connection)
            try copy.publish()
        } catch  where error.kind == .full {
            copy.discard()
            throw .noRoomToKeep(noRoom(schema, bytes: needed, free: room.look()))
        }
    }

    func report(from schema: Int) {
        guard schema > 0, schema < target else { return }
        let kept = directory.older(schema)
        journal.info(
            "queue was migrated to a newer schema, and a copy of the old one stays until you delete it",
            [
                "from": schema, "to": target, "kept": kept, "bytes": fileSize(kept) ?? 0,
            ]
        )
    }

    private func noRoom(_ schema: Int, bytes: Int, free: Int) -> String {
        """
        has schema \(schema) and must be brought to \(target), before which a copy of it is kept; that \
        takes \(bytes) bytes with queue.min_free_bytes, and \(free) are free. Free them, let the version that wrote it deliver its logs (sluice \
        drain) so that it becomes smaller, or move the data directory to a larger disk and set data_dir
        """
    }
}
