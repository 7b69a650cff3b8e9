import Glibc
package import Queue
import SQLite
import System

/// `sluice backup`: copies the queue of a data directory as it is at one moment into one file.
///
/// A gateway may use the queue meanwhile. The backup neither writes nor checkpoints, and reads in
/// one transaction, until whose end the gateway's log cannot start from its beginning.
package enum Backup {
    /// Reads the whole copy before it gets its name. Returns the report of that.
    package static func run(
        _ directory: String,
        to path: String
    ) throws(QueueError) -> InspectionReport {
        // Each gateway writes its process id into the lock, so a change means another gateway.
        let lock = DataDirectory(path: directory).lock
        let life = changed(lock)
        return try run(directory, to: path) { changed(lock) == life }
    }

    /// A gateway that starts moves its log into the database. With a reader it would write the
    /// whole log once more instead. So the copy ends when another gateway starts.
    static func run(
        _ directory: String,
        to path: String,
        whileSame isSame: @escaping () -> Bool
    ) throws(QueueError) -> InspectionReport {
        let source = DataDirectory(path: directory)
        guard fileSize(source.database) != nil else { throw Inspection.missing(source.database) }
        guard access(path, F_OK) != 0 else {
            throw QueueError(.directory, "\(path) is there already; name a file that is not.")
        }
        // Without a gateway none may start: the backup removes the files that SQLite leaves.
        let lock: DirectoryLock?
        do throws(QueueError) {
            lock = try DirectoryLock(source)
        } catch  where error.kind == .inUse {
            lock = nil
        }
        let companions = lock == nil ? [] : SQLiteCompanions.missing(of: source.database)
        let copy = DatabaseCopy(to: path)
        let isAlone = lock != nil
        // SQLite ignores or removes such damage silently. A running gateway checks its own files.
        if isAlone, let problem = source.problemOfFiles() {
            throw QueueError(problem, path: source.database)
        }
        do throws(QueueError) {
            defer { for name in companions { unlink(name) } }
            try write(copy, from: source.database, whileSame: isAlone ? nil : isSame)
        } catch {
            guard isAlone || isSame() else {
                throw QueueError(
                    .inUse,
                    "the gateway of \(directory) restarted while its queue was copied; try again."
                )
            }
            throw error
        }
        _ = consume lock
        return try proved(copy)
    }

    private static func changed(_ lock: String) -> WallTime? {
        var about = stat()
        guard stat(lock, &about) == 0 else { return nil }
        let time = about.st_mtim
        return WallTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    private static func write(
        _ copy: DatabaseCopy,
        from database: String,
        whileSame isSame: (() -> Bool)?
    ) throws(QueueError) {
        let (connection, bytes) = try withSQLiteErrors(of: database) { () throws(SQLiteError) in
            let connection = try Connection(database, .readOnly)
            if let isSame { connection.endUnless(isSame) }
            try connection.execute("PRAGMA mmap_size = 0")
            _ = try QueueSchema.version(of: connection)
            return (connection, try DatabaseCopy.bytes(connection))
        }
        do throws(SQLiteError) {
            try copy.checkRoom(for: connection)
            try copy.write(connection)
        } catch {
            guard error.kind != .corrupt else { throw QueueError(error, path: database) }
            throw unwritable(copy, bytes, error)
        }
    }

    private static func unwritable(
        _ copy: DatabaseCopy,
        _ bytes: Int,
        _ error: SQLiteError
    ) -> QueueError {
        QueueError(
            error.kind == .full ? .diskFull : .directory,
            "\(copy.path) cannot be written: \(error); name a file in a directory of yours that has \(bytes) "
                + "bytes free, and delete \(copy.draft) if an earlier backup left it."
        )
    }

    /// Checks the copy. A copy of a damaged queue is no backup.
    private static func proved(_ copy: DatabaseCopy) throws(QueueError) -> InspectionReport {
        let report: InspectionReport
        do throws(QueueError) {
            report = try Inspection.look(at: copy.draft)
        } catch {
            copy.discard()
            throw error
        }
        if let finding = report.findings.first {
            copy.discard()
            throw QueueError(
                .corrupt,
                "no backup was made, because the queue is damaged: \(finding.text). Stop the gateway and see "
                    + "sluice fsck DIR; copy the files of its directory to keep them as they are."
            )
        }
        do throws(SQLiteError) {
            try copy.publishIfAbsent()
        } catch {
            throw QueueError(.directory, "\(copy.path) cannot get its name: \(error).")
        }
        return report
    }
}
