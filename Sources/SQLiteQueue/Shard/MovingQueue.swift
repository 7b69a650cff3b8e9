package import CommitLog
import Glibc
package import Queue
import SQLite
import System

/// The local queue of a stopped gateway on its way into a shard, whose log's base it becomes. The
/// caller holds the directory's lock.
package struct MovingQueue {
    package struct Progress: Sendable {
        package let sent: Int
        package let bytes: Int
    }

    private static let patience = Duration.seconds(30)

    private let directory: DataDirectory
    private let shard: String

    package init(in directory: String, to shard: String) {
        self.directory = DataDirectory(path: directory)
        self.shard = shard
    }

    /// The queue's name after the move. No gateway looks at it.
    package var aside: String { "\(directory.path)/queue.moved-\(shard).db" }
    private var copy: DatabaseCopy { DatabaseCopy(to: directory.path + "/queue.moving.db") }
    private var source: String { fileSize(aside) == nil ? directory.database : aside }

    /// There is a queue that no move has put aside.
    package static func isThere(in directory: String) -> Bool {
        fileSize(DataDirectory(path: directory).database) ?? 0 > 0
    }

    // MARK: - The copy

    /// Makes a sound copy for the shard, of this version's tables and without decisions, which hold
    /// credentials.
    package func makeCopy() throws(QueueError) -> InspectionReport {
        if source == directory.database { try settle() }
        copy.discard()
        let source = source
        try withSQLiteErrors(of: source) { () throws(SQLiteError) in
            let connection = try Connection(source, .readOnly)
            try connection.execute("PRAGMA mmap_size = 0")
            _ = try QueueSchema.version(of: connection)
            try copy.checkRoom(for: connection)
            try copy.write(connection)
            try Self.clean(copy.draft)
        }
        let report = try Inspection.look(at: copy.draft)
        guard let finding = report.findings.first else { return report }
        discardCopy()
        throw damage(finding.text)
    }

    private func damage(_ reason: some CustomStringConvertible) -> QueueError {
        QueueError(
            .corrupt,
            "\(source) is damaged: \(reason); let sluice serve repair it with queue.engine: sqlite first."
        )
    }

    /// Moves the WAL into the database, so that it is one file.
    private func settle() throws(QueueError) {
        try directory.settleSalvage()
        if let problem = directory.problemOfFiles() { throw damage(problem) }
        try withSQLiteErrors(of: directory.database) { () throws(SQLiteError) in
            let connection = try Connection(directory.database, .readWrite)
            _ = try QueueSchema.version(of: connection)
            try connection.finish()
        }
        guard fileSize(directory.wal) == nil else {
            throw QueueError(
                .inUse,
                "\(directory.wal) is still there after a checkpoint, so another program has the queue open; end that, and run "
                    + "this again."
            )
        }
    }

    private static func clean(_ path: String) throws(SQLiteError) {
        let (connection, _) = try QueueDatabase.connect(
            path,
            QueueConfiguration(directory: DataDirectory.parent(of: path))
        )
        // Deleted rows would stay in their pages. `VACUUM` would hold the whole queue in memory.
        try connection.execute("PRAGMA secure_delete = ON")
        try connection.execute("DELETE FROM decisions; DELETE FROM audit")
        try connection.execute("PRAGMA incremental_vacuum")
        try connection.finish()
    }

    package var copyBytes: Int { fileSize(copy.draft) ?? 0 }

    package func discardCopy() {
        copy.discard()
        for suffix in ["-wal", "-shm"] { unlink(copy.draft + suffix) }
    }

    // MARK: - The log

    /// Reads the log to its end, or to its first whole base, which a gateway needs to own the
    /// shard.
    package static func look(
        at log: any CommitLog
    ) throws(CommitLogError) -> (isWhole: Bool, end: LogPosition) {
        // A log is trimmed only before a whole base.
        if let first = try log.read(from: 1, atMost: bytesOfOneEntry).first, first.number > 1 {
            return (true, .start)
        }
        var reader = CommitReader(log, after: .start)
        while let commit = try reader.next() {
            if commit.kind == .baseEnds { return (true, reader.end) }
        }
        return (false, reader.end)
    }

    /// Appends the copy as the log's base. `isEnding` is called before the entry that makes it
    /// whole.
    package func send(
        to log: any CommitLog,
        after end: LogPosition,
        progress: (Progress) throws(QueueError) -> Void,
        isEnding: () throws(QueueError) -> Void
    ) throws(QueueError) {
        let bytes = copyBytes
        let pieces = try withSQLiteErrors(of: copy.draft) { () throws(SQLiteError) in
            try BasePieces(copy.draft)
        }
        var retries = CommitWriter.RetryPolicy()
        retries.timeout = Self.patience
        var writer = try asQueueError { () throws(CommitLogError) in
            try CommitWriter(
                log,
                after: end,
                writer: .random(in: 1...UInt64.max),
                schema: UInt32(QueueSchema.migrations.count),
                retries: retries
            )
        }
        func publish(_ kind: CommitEntry.Kind, _ body: [UInt8]) throws(QueueError) {
            try asQueueError { () throws(CommitLogError) in try writer.publish(kind, body) }
        }
        try publish(.baseBegins, BaseDraft.moveMark)
        let first = writer.position.entry
        var sent = 0
        try progress(Progress(sent: sent, bytes: bytes))
        while let piece = try withSQLiteErrors(
            of: copy.draft,
            { () throws(SQLiteError) in try pieces.next() }
        ) {
            try publish(.baseChunk, piece)
            sent += piece.count
            try progress(Progress(sent: sent, bytes: bytes))
        }
        try isEnding()
        try publish(.baseEnds, pieces.trailer)
        // What attempts before this one have left.
        try? log.trimAll(before: first)
    }

    private func asQueueError<Value: ~Copyable>(
        _ calls: () throws(CommitLogError) -> Value
    ) throws(QueueError) -> Value {
        do throws(CommitLogError) {
            return try calls()
        } catch {
            throw QueueError(SQLiteError(error), path: copy.draft)
        }
    }

    /// Gives the queue another name, under which no gateway finds it.
    package func putAside() throws(QueueError) {
        guard source == directory.database else { return }
        guard rename(directory.database, aside) == 0 else {
            throw directory.problem("cannot hold \(aside)", errno)
        }
        for suffix in ["-wal", "-shm"] { unlink(directory.database + suffix) }
        try directory.sync()
    }

    /// Gives it back its name: the shard has nothing of it.
    package func bringBack() throws(QueueError) {
        guard source == aside, fileSize(directory.database) == nil else { return }
        guard rename(aside, directory.database) == 0 else {
            throw directory.problem("cannot hold queue.db", errno)
        }
        try directory.sync()
    }
}
