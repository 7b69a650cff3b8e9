import CommitLog
import Queue
import SQLite
import System

/// The commit log of a shard. It is authoritative: each transaction is appended to it before it is
/// committed to the database, a *scratch* copy that is rebuilt from the log at each start.
///
/// If an append fails, the log may have the transaction or not. The owner then closes the store.
/// Before it opens the store again, `prepare` reads the log and begins a new epoch: a transaction
/// that is not in the log by then never gets there.
final class ShardLog: ChangeLog {
    private let log: any CommitLog
    private let retries: CommitWriter.RetryPolicy
    private let freeBytesMin: Int
    /// Tells this gateway's appends from those of others.
    private let incarnation = UInt64.random(in: 1...UInt64.max)
    private var writer: CommitWriter?
    /// The last commit that the scratch database has; nil: it is of no use.
    private var applied: LogPosition?
    private var scratchSchema: UInt32 = 0
    /// The last epoch of this gateway; 0: it had none.
    private var lastEpoch: UInt64 = 0
    var base: ShardBase
    /// Called on the owner's thread, with the reason, when an append takes long and others wait for
    /// it.
    var whenSlow: (String) -> Void = { _ in }
    private var earlierRetries = 0
    /// The last entry that the directory has as known.
    private var notedEntry: UInt64 = 0
    /// Another gateway has the shard. This one must not take it back by itself.
    private(set) var isFenced = false

    init(_ log: any CommitLog, _ configuration: QueueConfiguration) {
        self.log = log
        retries = configuration.commitRetries
        freeBytesMin = configuration.restoreFreeBytesMin
        base = ShardBase(
            bytesSinceBaseMin: configuration.tuning.baseLogBytes,
            commitLogBytesMax: configuration.commitLogBytesMax
        )
    }

    var name: String { log.name }
    var isOpen: Bool { writer != nil }
    var lastEntry: UInt64 { writer?.position.entry ?? 0 }

    private static let schema = UInt32(QueueSchema.migrations.count)

    // MARK: - Transactions

    func publish(_ changes: [UInt8]) throws(SQLiteError) {
        try publish(.changes, changes)
        base.countChanges(changes.count)
    }

    func committed() { applied = writer?.position ?? applied }

    func publish(_ kind: CommitEntry.Kind, _ body: [UInt8]) throws(SQLiteError) {
        guard isOpen else {
            let kind: CommitLogError.Kind = isFenced ? .fenced : .unreachable
            throw SQLiteError(CommitLogError(kind, "the commit log is closed"))
        }
        do throws(CommitLogError) {
            try writer?.publish(kind, body, whenSlow: whenSlow)
            base.countCommit(body.count, until: lastEntry)
        } catch {
            dropWriter()
            if error.kind == .fenced { isFenced = true }
            throw SQLiteError(error)
        }
    }

    func trim(before entry: UInt64) throws(SQLiteError) -> Bool {
        try withCommitLogErrors { () throws(CommitLogError) in try log.trim(before: entry) }
    }

    /// It blocks like a commit, and seldom. What it may hold then is known to `base`.
    func makeRoom(for bytes: Int) {
        base.took(room: Result { () throws(CommitLogError) in try log.makeRoom(for: bytes) })
    }

    private func dropWriter() {
        earlierRetries += writer?.retryCount ?? 0
        writer = nil
    }

    var status: CommitLogStatus {
        var status = CommitLogStatus()
        status.epoch = Int(lastEpoch)
        status.entry = Int(writer?.position.entry ?? applied?.entry ?? 0)
        status.bytes = base.commitLogBytes
        status.bytesSinceBase = base.bytesSinceBase
        status.retries = earlierRetries + (writer?.retryCount ?? 0)
        return status
    }

    // MARK: - Before the store is opened

    /// Makes the next `prepare` rebuild the scratch database.
    func discardScratch() { applied = nil }

    /// Makes the scratch database what the log says, and begins an epoch.
    func prepare(
        _ directory: DataDirectory,
        _ configuration: QueueConfiguration
    ) throws(SQLiteError) {
        dropWriter()
        base.stop(directory)
        guard !isFenced else {
            throw SQLiteError(CommitLogError.fenced("another writer has the log"))
        }
        let end = try catchUp(directory)
        let isNew = applied == nil
        let found = try migrate(directory, configuration)
        // Without tables there is nothing that the log was applied to.
        guard found > 0 || isNew else { throw .damage("the scratch database has vanished") }
        // A log that was full could not even begin an epoch, although there may be room by now.
        makeRoom(for: base.roomNeeded(databaseBytes: fileSize(directory.database) ?? 0))
        do throws(CommitLogError) {
            writer = try CommitWriter(
                log,
                after: end,
                writer: incarnation,
                schema: Self.schema,
                retries: retries
            )
        } catch {
            if error.kind == .fenced { isFenced = true }
            throw SQLiteError(error)
        }
        lastEpoch = end.epoch + 1
        if !base.isThere || scratchSchema < Self.schema {
            try sendBase(directory)
        }
        committed()
        scratchSchema = Self.schema
        notePosition(directory)
    }

    /// Makes the scratch database what the log says, without taking the shard. After an error it
    /// has the commits before that; see `restored`.
    func read(_ directory: DataDirectory) throws(SQLiteError) { _ = try catchUp(directory) }

    /// The last commit that the scratch database has; nil: it has none.
    var restored: LogPosition? { applied }

    /// Writes down the last entry, now and then.
    func notePosition(_ directory: DataDirectory) {
        guard lastEntry > notedEntry else { return }
        notedEntry = lastEntry
        directory.know(entry: lastEntry, of: log.name)
    }

    /// Brings the scratch database to the end of the log, which it returns.
    private func catchUp(_ directory: DataDirectory) throws(SQLiteError) -> LogPosition {
        if applied == nil {
            if lastEpoch == 0 { try checkEnd(directory) }
            try restoreBase(directory, ofSchema: 0)
        }
        while true {
            var reader = CommitReader(log, after: applied ?? .start)
            guard let newer = try apply(&reader, directory) else { return reader.end }
            // An owner of a newer version made other tables, and began with a base of them.
            try restoreBase(directory, ofSchema: newer)
            guard scratchSchema == newer else {
                throw .commitLog(.corrupt, "the log has no base of schema \(newer)")
            }
        }
    }

    /// Refuses to start if the log has lost entries that this gateway once saw: the scratch
    /// database may be their only copy, and restoring would delete it.
    private func checkEnd(_ directory: DataDirectory) throws(SQLiteError) {
        guard let known = directory.knownPosition else { return }
        guard known.log == log.name else { return try checkOther(known.log, directory) }
        do throws(CommitLogError) {
            _ = try log.read(from: known.entry + 1, atMost: bytesOfOneEntry)
        } catch {
            guard error.kind == .damaged else { throw SQLiteError(error) }
            throw .commitLog(
                .corrupt,
                "\(error); restore the log, or remove \(directory.position) to go on with what it has"
            )
        }
    }

    /// The scratch database belongs to another commit log. Its undelivered device logs would stay
    /// there, and nobody would notice.
    private func checkOther(
        _ other: String,
        _ directory: DataDirectory
    ) throws(SQLiteError) {
        var queued: Int64 = 0
        do throws(QueueError) {
            queued = try StoredLogs.count(in: directory.database)?.queued ?? 0
        } catch {
            throw .unsuitable(error.description)
        }
        guard queued > 0 else { return }
        throw .commitLog(
            .refused,
            "\(directory.database) is a copy of another commit log (\(other)) with \(queued) undelivered logs; start "
                + "with the settings of that queue until they are delivered, or remove the file to lose them"
        )
    }

    /// Makes the tables those of this version. Returns the version that they had, 0 for none.
    private func migrate(
        _ directory: DataDirectory,
        _ configuration: QueueConfiguration
    ) throws(SQLiteError) -> UInt32 {
        do throws(QueueError) {
            // Readable only by its owner, which SQLite would not see to.
            try directory.createDatabaseFile()
        } catch {
            throw .unsuitable(error.description)
        }
        let (_, found) = try QueueDatabase.connect(directory.database, configuration)
        // Older tables become new ones here, which the commits of the log do not fit any more.
        if found < Self.schema { applied = nil }
        return UInt32(found)
    }

    /// Makes the log's first whole base of at least this schema the scratch database. The one that
    /// is there stays until then: of a damaged log it may be the only copy.
    private func restoreBase(
        _ directory: DataDirectory,
        ofSchema schema: UInt32
    ) throws(SQLiteError) {
        // Before the rest is read: meanwhile the owner may finish a base, and trim.
        let first = try firstEntry()
        applied = nil
        scratchSchema = 0
        base.forget()
        base.forgetCounts()
        defer { directory.dropRestored() }
        try checkRoom(directory)
        var draft = BaseDraft(of: directory.restoreDraft)
        var reader = CommitReader(log, after: .start)
        while let commit = try next(&reader) {
            if commit.kind == .baseBegins { base.began() }
            base.countCommit(commit.body.count, until: reader.position.entry)
            if commit.kind == .baseChunk { try checkRoom(directory) }
            guard commit.schema >= schema, let head = try draft.take(commit) else { continue }
            try directory.useRestored()
            base.finishReading(beginning: head.start.entry + 1)
            scratchSchema = head.schema
            // Commits may lie between the pieces.
            applied = draft.isInterrupted ? head.start : reader.position
            return
        }
        guard !draft.isMoved else {
            throw .commitLog(
                .refused,
                "the log is not whole, because the queue of a gateway is being moved there; if that was cut off, "
                    + "run sluice shards add with its directory again"
            )
        }
        // Only what a whole base replaces is trimmed, so a trimmed log without one is not new.
        guard first == 1 else {
            throw .commitLog(
                .corrupt,
                "the log begins with entry \(first) and has no whole base, so what it held before is gone; restore "
                    + "the log from a backup, and keep \(directory.database), which may be the last copy"
            )
        }
        directory.removeDatabase()
    }

    /// The number of the log's first entry; 1: it has none.
    private func firstEntry() throws(SQLiteError) -> UInt64 {
        do throws(CommitLogError) {
            return try log.read(from: 1, atMost: bytesOfOneEntry).first?.number ?? 1
        } catch {
            throw SQLiteError(error)
        }
    }

    /// Applies the commits that follow, many in one transaction. Returns nil at the end of the log,
    /// or a newer schema that the scratch database does not have.
    private func apply(
        _ reader: inout CommitReader,
        _ directory: DataDirectory
    ) throws(SQLiteError) -> UInt32? {
        var scratch: (connection: Connection, transaction: WriteTransaction)?
        var bytes = 0
        var whole = reader.position
        while true {
            let found: Commit?
            do throws(SQLiteError) {
                found = try next(&reader)
            } catch {
                // The commits before it are whole.
                try scratch?.transaction.commit()
                if base.isThere { applied = whole }
                throw error
            }
            guard let commit = found else { break }
            base.countCommit(commit.body.count, until: reader.position.entry)
            guard commit.kind == .changes else {
                whole = reader.position
                continue
            }
            guard base.isThere, commit.schema >= scratchSchema else {
                throw .commitLog(
                    .corrupt,
                    "commit \(commit.id.commit) has schema \(commit.schema), and no base fits it"
                )
            }
            guard commit.schema == scratchSchema else { return commit.schema }
            if scratch == nil { scratch = try open(directory) }
            try scratch?.transaction.begin()
            try scratch?.connection.apply(commit.body)
            whole = reader.position
            base.countChanges(commit.body.count)
            bytes += commit.body.count
            if bytes >= Self.appliedAtOnce {
                try scratch?.transaction.commit()
                try checkRoom(directory)
                applied = reader.position
                bytes = 0
            }
        }
        try scratch?.transaction.commit()
        if base.isThere { applied = reader.position }
        return nil
    }

    private static let appliedAtOnce = 8 << 20

    /// Logs of other shards need the disk, too.
    func checkRoom(_ directory: DataDirectory, besides needed: Int = 0) throws(SQLiteError) {
        guard freeBytesMin > 0 else { return }
        var space = DiskSpace(directory.path)
        space.look()
        let free = space.freeBytes - needed
        guard free < freeBytesMin else { return }
        throw .commitLog(
            .full,
            "\(free >> 20) MiB are free in \(directory.path), and reading a shard must leave \(freeBytesMin >> 20)"
        )
    }

    private func open(
        _ directory: DataDirectory
    ) throws(SQLiteError) -> (Connection, WriteTransaction) {
        guard fileSize(directory.database) ?? 0 > 0 else {
            throw .damage("the scratch database has vanished")
        }
        let connection = try Connection(directory.database, .scratch)
        try Pragmas.scratch(connection)
        return (connection, try WriteTransaction(connection))
    }

    private func next(_ reader: inout CommitReader) throws(SQLiteError) -> Commit? {
        let commit = try withCommitLogErrors { () throws(CommitLogError) in try reader.next() }
        guard let commit else { return nil }
        guard commit.schema <= Self.schema else {
            throw .newerSchema(Int(commit.schema), known: Int(Self.schema))
        }
        // Another gateway has begun an epoch since this one had its last.
        if lastEpoch > 0, commit.id.epoch > lastEpoch, commit.id.writer != incarnation {
            isFenced = true
            throw SQLiteError(CommitLogError.fenced("another writer has the log"))
        }
        return commit
    }
}
