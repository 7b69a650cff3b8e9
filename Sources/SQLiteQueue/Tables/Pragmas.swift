import Queue
import SQLite

/// The settings of the queue's database, each with its reason.
enum Pragmas {
    /// These work only before the first table exists; afterwards they are part of the file.
    static func create(on connection: Connection, pageBytes: Int) throws(SQLiteError) {
        try connection.execute("PRAGMA page_size = \(pageBytes)")
        // An incremental vacuum gives back the pages that an outage filled step by step, without
        // rewriting the file.
        try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    }

    /// No durability: a commit log has what the database has.
    static func owner(
        _ connection: Connection,
        _ durability: Durability?,
        _ tuning: QueueTuning
    ) throws(SQLiteError) {
        // This gives one sequential write and one sync per commit, and readers that never block the
        // owner.
        let mode = try connection.text("PRAGMA journal_mode = WAL")
        guard mode == "wal" else {
            throw .unsuitable("the file system cannot hold a log (\(mode))")
        }
        switch durability {
        case .full:
            // SQLite syncs the log in each commit. Only after that may a 2xx be sent.
            try connection.execute("PRAGMA synchronous = FULL")
        case .normal:
            // SQLite syncs the log only before a checkpoint. Logs survive a crash, not a power cut.
            try connection.execute("PRAGMA synchronous = NORMAL")
        case nil:
            try connection.execute("PRAGMA synchronous = OFF")
        }
        // Debian's SQLite by default overwrites deleted content with zeroes. That would write every
        // payload to the disk once more when it is acknowledged.
        try connection.execute("PRAGMA secure_delete = OFF")
        // The cache holds the pages of one transaction and the pages that a packet's deletion walks
        // through.
        try connection.execute("PRAGMA cache_size = -\(tuning.cacheBytes / 1024)")
        // A read error through a memory map is a SIGBUS, not an error value.
        try connection.execute("PRAGMA mmap_size = 0")
        // A checkpoint in the middle of a commit would delay all callers of that commit. The owner
        // runs it after its callbacks. The hook of `watchLog` replaces the automatic one.
        try connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.watchLog()
        // The log keeps its space between rounds: overwriting it in place makes a commit sync only
        // data. When it starts the log anew, SQLite cuts off what lies beyond twice the longest
        // round, so the file may keep that much.
        try connection.execute("PRAGMA journal_size_limit = \(2 * tuning.longLogBytes)")
        // SQLite finds a damaged page when it reads the page, before the damage does harm.
        try connection.execute("PRAGMA cell_size_check = ON")
    }

    /// For the restore from a commit log.
    static func scratch(_ connection: Connection) throws(SQLiteError) {
        try connection.execute("PRAGMA journal_mode = WAL")
        try connection.execute("PRAGMA synchronous = OFF")
    }

    static func reader(_ connection: Connection) throws(SQLiteError) {
        // This is a second safeguard: the file is open read-only already.
        try connection.execute("PRAGMA query_only = ON")
        try connection.execute("PRAGMA mmap_size = 0")
        // Each payload is read only once.
        try connection.execute("PRAGMA cache_size = -1024")
    }
}
