import SQLite

/// The bytes that the queue may still store, by the free space of its disk.
///
/// If the log no longer fits into the database, the queue can deliver nothing, and no delivery
/// makes room. So batches never get two parts of the space: the pages that the log still has to
/// move, and a reserve for acknowledgements, which write before they free.
final class DiskRoom {
    private let directory: DataDirectory
    private var disk: DiskSpace
    /// Bytes that may be stored; `.max` while there is plenty of space.
    private(set) var bytes = Int.max
    /// The bytes of the database that may move at a time to make it shorter.
    private(set) var movableBytes = Int.max

    init(_ directory: DataDirectory, diskBytes: Int?) {
        self.directory = directory
        disk = DiskSpace(directory.path, bytesMax: diskBytes)
    }

    var freeBytes: Int { disk.freeBytes }

    func look() -> Int {
        disk.look()
        return disk.freeBytes
    }

    /// Tests make the disk smaller while the queue runs.
    func limit(to diskBytes: Int?) {
        disk = DiskSpace(directory.path, bytesMax: diskBytes)
    }

    var isScarce: Bool { bytes < .max }

    /// True if not even one more row fits.
    func isUsedUp(_ tuning: QueueTuning) -> Bool { bytes < tuning.rowBytes }

    /// Subtracts the bytes that were stored since the measurement.
    func use(_ stored: Int, of before: Int) {
        if bytes < .max { bytes = max(0, before - stored) }
    }

    func measure(_ store: OpenStore, _ configuration: QueueConfiguration) throws(SQLiteError) {
        let tuning = configuration.tuning
        let others = min(configuration.freeBytesMin, 1 << 60)
        disk.look()
        guard store.files.isLogCertain else {
            (bytes, movableBytes) = (0, 0)
            return
        }
        let plenty = others + 2 * tuning.longLogBytes + 2 * tuning.transactionBytes
        guard disk.freeBytes < plenty else {
            (bytes, movableBytes) = (.max, .max)
            return
        }
        let database = fileSize(directory.database) ?? 0
        let log = fileSize(directory.database + "-wal") ?? 0
        let pages = try store.database.pages() * tuning.pageBytes
        let spare = try store.database.freePages() * tuning.pageBytes
        let free = disk.freeBytes - max(0, pages - database) - max(0, store.files.logBytes - log)
        let acknowledgements = tuning.checkpointBytes / 4
        // Writes reuse the log file's space. If it did not count, a queue that filled its disk
        // would refuse for ever, because its database keeps its pages even when it is empty.
        let reusable = max(0, log - store.files.logBytes)
        // A page that moves changes two others and some that lead to them, all in the log for a
        // while.
        movableBytes = max(0, free + reusable - 16 * tuning.pageBytes) / 4
        guard free >= 0, free + reusable >= acknowledgements else {
            bytes = 0
            return
        }
        // Space that both files own costs nothing. The rest goes to the log and to the database.
        let owned = min(spare, reusable)
        bytes = (owned + max(0, free - max(others, acknowledgements))) / 2
    }
}

extension DiskRoom {
    /// The bytes that a salvage may copy at a time: first into the log, then into the database.
    /// Free space in either file costs nothing. It may use the space that the queue leaves free for
    /// others, because nothing leaves while it cannot continue, but not the reserve for
    /// acknowledgements.
    func bytesToSave(in saved: QueueDatabase, _ tuning: QueueTuning) throws(SQLiteError) -> Int {
        let isLogFree = try saved.connection.checkpoint(.passive) == .nothing
        let log = isLogFree ? fileSize(saved.path + "-wal") ?? 0 : 0
        let spare = try saved.freePages() * tuning.pageBytes
        disk.look()
        // Negative if acknowledgements have used their reserve. Then the files must hold the copy.
        let free = disk.freeBytes - tuning.checkpointBytes / 16
        // Each transaction also writes ledgers, the remainder and inner pages.
        let besides = 16 * tuning.pageBytes
        return max(0, min(min(spare, log) + free, (spare + log + free) / 2) - besides)
    }
}
