import SQLite
import System

/// Bytes that the queue may still store, by the free space of its disk.
///
/// A queue must not fill its disk by itself: with a log that no longer fits into the database nothing could be delivered
/// that would make room. So what the log still has to move, and something for acknowledgements, which write before they
/// free, is never given to batches.
final class DiskRoom {
    private let directory: DataDirectory
    private var disk: DiskSpace
    /// Bytes that may be stored; `.max` while space is plenty.
    private(set) var bytes = Int.max
    /// How much of the database may move at a time to make it shorter.
    private(set) var movableBytes = Int.max

    init(_ directory: DataDirectory, diskBytes: Int?) {
        self.directory = directory
        disk = DiskSpace(directory.path, bytesMax: diskBytes)
    }

    /// As it was when it was looked at last.
    var freeBytes: Int { disk.freeBytes }

    /// Asks the file system for its free space.
    func look() -> Int {
        disk.look()
        return disk.freeBytes
    }

    /// Tests make the disk smaller while the queue runs.
    func limit(to diskBytes: Int?) {
        disk = DiskSpace(directory.path, bytesMax: diskBytes)
    }

    var isScarce: Bool { bytes < .max }

    /// Not even one more row fits.
    func isUsedUp(_ tuning: QueueTuning) -> Bool { bytes < tuning.rowBytes }

    /// So much was stored since it was measured, and the rest is left of `before`.
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
        let plenty = others + 4 * tuning.checkpointBytes + 2 * tuning.transactionBytes
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
        // What the log's file has already is written again. Not to count it would leave a queue that filled its disk
        // refusing for ever, empty as it is: its database keeps its pages.
        let reusable = max(0, log - store.files.logBytes)
        // A page that moves takes two others with it, and each step some that lead to them; all are in the log until they
        // are in the database.
        movableBytes = max(0, free + reusable - 16 * tuning.pageBytes) / 4
        guard free >= 0, free + reusable >= acknowledgements else {
            bytes = 0
            return
        }
        // What lies in both files already costs nothing; the rest goes to the log and to the database.
        let owned = min(spare, reusable)
        bytes = (owned + max(0, free - max(others, acknowledgements))) / 2
    }
}

extension DiskRoom {
    /// Bytes that a salvage may copy at a time. They go into the log and from there into the database, and what is free in
    /// either takes no space. A salvage may use what the queue leaves free for others: while it cannot go on nothing
    /// leaves. It keeps what acknowledgements need, which make room.
    func bytesToSave(in saved: QueueDatabase, _ tuning: QueueTuning) throws(SQLiteError) -> Int {
        let isLogFree = try saved.connection.checkpoint(.passive) == .nothing
        let log = isLogFree ? fileSize(saved.path + "-wal") ?? 0 : 0
        let spare = try saved.freePages() * tuning.pageBytes
        disk.look()
        // Negative where acknowledgements have used what is kept for them: then the files have to hold it.
        let free = disk.freeBytes - tuning.checkpointBytes / 16
        // Each transaction writes ledgers, the remainder and inner pages besides.
        let besides = 16 * tuning.pageBytes
        return max(0, min(min(spare, log) + free, (spare + log + free) / 2) - besides)
    }
}
