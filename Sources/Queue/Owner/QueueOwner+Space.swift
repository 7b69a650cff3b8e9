extension QueueOwner {
    /// Finds out how many bytes more may be stored; `.max` while space is plenty.
    ///
    /// A queue must not fill its disk by itself: with a log that no longer fits into the database nothing
    /// could be delivered that would make room. So what the log still has to move, and something for
    /// acknowledgements, which write before they free, is never given to batches.
    func measureRoom(_ store: OpenStore) throws(SQLiteError) {
        let tuning = configuration.tuning
        disk.look()
        let plenty = configuration.freeBytesMin + 4 * tuning.checkpointBytes
        guard disk.freeBytes < plenty + 2 * tuning.transactionBytes else {
            roomBytes = .max
            return
        }
        let database = fileSize(directory.database) ?? 0
        let log = fileSize(directory.database + "-wal") ?? 0
        let pages = try store.database.pages() * tuning.pageBytes
        let spare = try store.database.freePages() * tuning.pageBytes
        let free = disk.freeBytes - max(0, pages - database) - max(0, store.logBytes - log)
        let acknowledgements = tuning.checkpointBytes / 4
        guard free >= acknowledgements else {
            roomBytes = 0
            return
        }
        // What lies in both files already costs nothing; the rest goes to the log and to the database.
        let owned = min(spare, max(0, log - store.logBytes))
        let others = max(configuration.freeBytesMin, acknowledgements)
        roomBytes = (owned + max(0, free - others)) / 2
    }
}
