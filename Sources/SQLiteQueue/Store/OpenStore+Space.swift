import SQLite
import System

extension OpenStore {
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
        // Of none it would give back all.
        guard pages > 0 else { return hasSpareSpace = false }
        try database.write()
        try database.vacuum(pages)
    }
}
