import Queue
import SQLite
import System

/// The files of the open database: their sizes, and whether the log is on the disk.
final class DatabaseFiles: StorePart {
    let context: StoreContext
    /// The database's size when it was last looked at.
    private(set) var databaseBytes = 0
    /// Free pages wait to be given back.
    private(set) var hasSpareSpace = false
    /// See `makeLogCertain`.
    private(set) var isLogCertain = false

    init(_ context: StoreContext) {
        self.context = context
    }

    /// The log's part in use.
    var logBytes: Int { database.connection.walPages * configuration.tuning.pageBytes }

    /// Gives free pages back to the file system, a bounded number at a time, but for some that the next
    /// burst will want. The file becomes shorter with the next checkpoint. What lies behind them moves, which takes room in
    /// the log.
    func giveBack(atMost bytes: Int) throws(SQLiteError) {
        let tuning = configuration.tuning
        databaseBytes = try database.pages() * tuning.pageBytes
        let free = try database.freePages() * tuning.pageBytes
        let excess = free - tuning.spareBytes
        hasSpareSpace = excess > tuning.givenBackBytes
        let pages = min(excess, tuning.givenBackBytes, bytes) / tuning.pageBytes
        // Asked for zero pages, SQLite would give back all.
        guard pages > 0 else { return hasSpareSpace = false }
        try database.write()
        try database.vacuum(pages)
    }

    /// Makes certain that the log that was found at opening is on the disk. Until it is nothing may be accepted: a sync
    /// may have failed in an earlier life, and commits behind frames that never reached the disk would be lost with them.
    ///
    /// `WALRewrite` does that, and comes first: it proves each frame, and a checkpoint proves none. Instead of a frame that
    /// never reached the disk a checkpoint would move into the database what the file has in its place.
    ///
    /// The checkpoint behind it makes the next commit begin the log from its start. A reader, such as `sluice backup`, keeps
    /// the log where it is for as long as it reads, and this does not wait for it. Where the disk has no room to write the log
    /// once more, it stays uncertain: delivering the logs that are there matters more, and housekeeping tries again. Between
    /// transactions only.
    func makeLogCertain() throws(SQLiteError) {
        guard !isLogCertain else { return }
        do throws(SQLiteError) {
            if fileSize(database.path + "-wal") ?? 0 > 0 { try rewriteLog() }
            isLogCertain = true
            if try database.connection.checkpoint(.restart) == .nothing { try checkSize() }
        } catch {
            guard error.kind == .full else { throw error }
        }
    }

    /// A file that was cut off is found now, not when its lost end is first read. That takes an empty log.
    private func checkSize() throws(SQLiteError) {
        let pages = try database.connection.integer("PRAGMA page_count")
        let pageSize = try database.connection.integer("PRAGMA page_size")
        let expected = Int(pages * pageSize)
        guard let found = fileSize(database.path), found >= expected else {
            throw .damage("the file is shorter than the \(expected) bytes it should have")
        }
    }

    private func rewriteLog() throws(SQLiteError) {
        // No other connection may write to the log meanwhile.
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
        // While a reader is there, SQLite believes the shared index of the log and not the file.
        guard written >= frames else {
            throw .damage("only \(written) of \(frames) pages in its log can be proved")
        }
    }
}
