import Queue
import SQLite

/// How the queue's database is set up, each setting with its reason.
enum Pragmas {
    /// Only before the first table exists; afterwards they are part of the file.
    static func create(on connection: Connection, pageBytes: Int) throws(SQLiteError) {
        try connection.execute("PRAGMA page_size = \(pageBytes)")
        // Pages that an outage filled can be given back step by step, without rewriting the file.
        try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    }

    static func owner(
        _ connection: Connection,
        _ durability: Durability,
        _ tuning: QueueTuning
    ) throws(SQLiteError) {
        // One sequential write and one sync per commit, and readers that never block the owner.
        let mode = try connection.text("PRAGMA journal_mode = WAL")
        guard mode == "wal" else {
            throw .unsuitable("the file system cannot hold a log (\(mode))")
        }
        switch durability {
        case .full:
            // The log is synced in each commit: only then may a 2xx be sent.
            try connection.execute("PRAGMA synchronous = FULL")
        case .normal:
            // The log is synced before a checkpoint only: survives a crash, not a power cut.
            try connection.execute("PRAGMA synchronous = NORMAL")
        }
        // Debian's SQLite overwrites what is deleted with zeroes by default, which would write every
        // payload to the disk once more when it is acknowledged.
        try connection.execute("PRAGMA secure_delete = OFF")
        // Holds the pages of one transaction, and those a packet's deletion walks through.
        try connection.execute("PRAGMA cache_size = -\(tuning.cacheBytes / 1024)")
        // A read error through a memory map is a SIGBUS, not an error value.
        try connection.execute("PRAGMA mmap_size = 0")
        // A checkpoint in the middle of a commit would delay all who wait for that commit; the
        // owner does it after its callbacks. The hook of `watchLog` replaces the automatic one.
        try connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.watchLog()
        // The log keeps its space between rounds: overwriting it in place makes a commit's sync one of
        // data only. What grew beyond twice the usual round is cut off.
        try connection.execute("PRAGMA journal_size_limit = \(2 * tuning.checkpointBytes)")
        // Sorting and rebuilding never needs files beside the queue.
        try connection.execute("PRAGMA temp_store = MEMORY")
        // A damaged page is found when it is read, not when it has done harm.
        try connection.execute("PRAGMA cell_size_check = ON")
    }

    static func reader(_ connection: Connection) throws(SQLiteError) {
        // A second belt: the file is opened read-only already.
        try connection.execute("PRAGMA query_only = ON")
        try connection.execute("PRAGMA mmap_size = 0")
        // Payloads pass through once.
        try connection.execute("PRAGMA cache_size = -1024")
    }
}
