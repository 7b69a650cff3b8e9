import Queue
import SQLite
import System

/// The files of the open database: their sizes, and the state of the log on the disk.
final class DatabaseFiles: StorePart {
    let context: StoreContext
    /// The database's size at the last check.
    private(set) var databaseBytes = 0
    /// True if free pages wait to be given back.
    private(set) var hasSpareSpace = false
    /// See `makeLogCertain`.
    private(set) var isLogCertain = false

    init(_ context: StoreContext) {
        self.context = context
    }

    /// The used part of the log.
    var logBytes: Int { database.connection.walPages * configuration.tuning.pageBytes }

    /// Gives free pages back to the file system, a bounded number at a time, and keeps some for the
    /// next burst. The file becomes shorter with the next checkpoint. The pages behind the free
    /// ones move, which takes room in the log.
    func giveBack(atMost bytes: Int) throws(SQLiteError) {
        let tuning = configuration.tuning
        databaseBytes = try database.pages() * tuning.pageBytes
        let free = try database.freePages() * tuning.pageBytes
        let excess = free - tuning.spareBytes
        hasSpareSpace = excess > tuning.givenBackBytes
        let pages = min(excess, tuning.givenBackBytes, bytes) / tuning.pageBytes
        // For zero pages SQLite would give back all.
        guard pages > 0 else { return hasSpareSpace = false }
        try database.write()
        try database.vacuum(pages)
    }

    /// Makes certain that the log of an earlier process is on the disk. Until then the queue may
    /// accept nothing: a sync may have failed in that process. Commits behind frames that never
    /// reached the disk would be lost with those frames.
    ///
    /// `WALRewrite` comes first because it proves each frame, and a checkpoint proves none. If a
    /// frame never reached the disk, a checkpoint would move other content of the file into the
    /// database.
    ///
    /// The checkpoint after it makes the next commit begin the log from its start. A reader, such
    /// as `sluice backup`, keeps the log in place while it reads, and this function does not wait
    /// for it.
    ///
    /// If the disk has no room to write the log once more, the log stays uncertain. Delivering the
    /// present logs is more important, and housekeeping tries again. Call it only between
    /// transactions.
    func makeLogCertain() throws(SQLiteError) {
        guard !isLogCertain else { return }
        guard configuration.commitLog == nil else { return isLogCertain = true }
        do throws(SQLiteError) {
            if fileSize(database.path + "-wal") ?? 0 > 0 { try rewriteLog() }
            isLogCertain = true
            if try database.connection.checkpoint(.restart) == .nothing { try checkSize() }
        } catch {
            guard error.kind == .full else { throw error }
        }
    }

    /// Finds a file that was cut off now, not when its lost end is first read. The check needs an
    /// empty log.
    private func checkSize() throws(SQLiteError) {
        let pages = try database.connection.integer("PRAGMA page_count")
        let pageSize = try database.connection.integer("PRAGMA page_size")
        let expected = Int(pages * pageSize)
        guard let found = fileSize(database.path), found >= expected else {
            throw .damage("the file is shorter than the \(expected) bytes it should have")
        }
    }

    private func rewriteLog() throws(SQLiteError) {
        // The transaction keeps other connections from writing to the log meanwhile.
        try database.write()
        let frames = database.connection.committedFrames()
        let log = database.path + "-wal"
        let written: Int
        do throws(SystemError) {
            written = try WALRewrite.run(log)
        } catch {
            database.rollBack()
            throw .system(error, log)
        }
        try database.commit()
        // While a reader is connected, SQLite uses the shared index of the log and not the file.
        guard written >= frames else {
            throw .damage("only \(written) of \(frames) pages in its log can be proved")
        }
    }
}
