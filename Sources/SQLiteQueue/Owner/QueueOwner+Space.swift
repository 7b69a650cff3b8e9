import SQLite

extension QueueOwner {
    /// Finds out how many bytes more may be stored; `.max` while space is plenty.
    ///
    /// A queue must not fill its disk by itself: with a log that no longer fits into the database nothing
    /// could be delivered that would make room. So what the log still has to move, and something for
    /// acknowledgements, which write before they free, is never given to batches.
    func measureRoom(_ store: OpenStore) throws(SQLiteError) {
        let tuning = configuration.tuning
        let others = min(configuration.freeBytesMin, 1 << 60)
        disk.look()
        guard store.isLogCertain else {
            (roomBytes, movableBytes) = (0, 0)
            return
        }
        let plenty = others + 4 * tuning.checkpointBytes + 2 * tuning.transactionBytes
        guard disk.freeBytes < plenty else {
            (roomBytes, movableBytes) = (.max, .max)
            return
        }
        let database = fileSize(directory.database) ?? 0
        let log = fileSize(directory.database + "-wal") ?? 0
        let pages = try store.database.pages() * tuning.pageBytes
        let spare = try store.database.freePages() * tuning.pageBytes
        let free = disk.freeBytes - max(0, pages - database) - max(0, store.logBytes - log)
        let acknowledgements = tuning.checkpointBytes / 4
        // What the log's file has already is written again. Not to count it would leave a queue that filled its disk
        // refusing for ever, empty as it is: its database keeps its pages.
        let reusable = max(0, log - store.logBytes)
        // A page that moves takes two others with it, and each step some that lead to them; all are in the log until they
        // are in the database.
        movableBytes = max(0, free + reusable - 16 * tuning.pageBytes) / 4
        guard free >= 0, free + reusable >= acknowledgements else {
            roomBytes = 0
            return
        }
        // What lies in both files already costs nothing; the rest goes to the log and to the database.
        let owned = min(spare, reusable)
        roomBytes = (owned + max(0, free - max(others, acknowledgements))) / 2
    }
}
