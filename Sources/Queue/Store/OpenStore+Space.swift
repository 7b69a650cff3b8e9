import System

extension OpenStore {
    /// The log's part in use.
    var logBytes: Int { database.connection.walPages * configuration.tuning.pageBytes }

    /// Gives free pages back to the file system, a bounded number at a time, but for some that the next
    /// burst will want. The file becomes shorter with the next checkpoint.
    func giveBack() throws(SQLiteError) {
        let tuning = configuration.tuning
        databaseBytes = try database.pages() * tuning.pageBytes
        let free = try database.freePages() * tuning.pageBytes
        let excess = free - tuning.spareBytes
        hasSpareSpace = excess > tuning.givenBackBytes
        guard excess > 0 else { return }
        try database.write()
        try database.vacuum(min(excess, tuning.givenBackBytes) / tuning.pageBytes)
    }
}
