import CommitLog
import Queue
import SQLite
import System

/// The commit log of a shard. The log is the shard's only truth: each transaction is appended to it before it is
/// committed to the database, which is a *scratch* copy of what the log says and is thrown away with the process.
///
/// If an append fails, nobody knows whether the log has the transaction. The owner then closes the store, and before it
/// opens it again, `prepare` reads what is in the log and begins a new epoch, which settles it.
final class ShardLog: ChangeLog {
    private let log: any CommitLog
    private let patience: CommitWriter.Patience
    private var writer: CommitWriter?
    /// What the scratch database has; nil: it is of no use.
    private var applied: CommitReader?
    var base: ShardBase
    /// Another gateway has the shard. This one must not take it back by itself.
    private(set) var isLost = false

    init(_ log: any CommitLog, _ patience: CommitWriter.Patience, _ tuning: QueueTuning) {
        self.log = log
        self.patience = patience
        base = ShardBase(logBytesMin: tuning.baseLogBytes)
    }

    /// It takes commits.
    var isOpen: Bool { writer != nil }
    var lastEntry: UInt64 { writer?.position.entry ?? 0 }

    private static let schema = UInt32(QueueSchema.migrations.count)

    // MARK: - Transactions

    func publish(_ changes: [UInt8]) throws(SQLiteError) {
        try publish(.changes, changes)
        base.grew(by: changes.count)
    }

    func committed() {
        guard let position = writer?.position, let epoch = applied?.epoch else { return }
        applied = CommitReader(behind: position, epoch: epoch)
    }

    func publish(_ kind: CommitEntry.Kind, _ body: [UInt8]) throws(SQLiteError) {
        guard isOpen else {
            throw .commitLog(isLost ? .fenced : .io, "the commit log is not open")
        }
        do throws(CommitLogError) {
            try writer?.publish(kind, body)
        } catch {
            writer = nil
            throw failure(error)
        }
    }

    private func failure(_ error: CommitLogError) -> SQLiteError {
        if error.kind == .fenced { isLost = true }
        let kind: SQLiteError.Kind =
            switch error.kind {
            case .fenced: .fenced
            case .noRoom: .full
            case .away: .io
            case .damaged: .corrupt
            case .newer: .newerSchema
            }
        return .commitLog(kind, "the commit log: \(error)")
    }

    // MARK: - Before the store is opened

    /// The scratch database is damaged, or a copy that failed halfway.
    func discardScratch() { applied = nil }

    /// Makes the scratch database what the log says, and begins an epoch.
    func prepare(_ directory: DataDirectory, _ configuration: QueueConfiguration)
        throws(SQLiteError)
    {
        writer = nil
        base.giveUp()
        guard !isLost else { throw .commitLog(.fenced, "another writer has the log") }
        var restored = applied
        applied = nil
        if restored == nil { restored = try restoreBase(directory) }
        let reader = try catchUp(from: restored ?? CommitReader(behind: .start), directory)
        // Older tables become those of this version before anything is appended.
        let found = try migrate(directory, configuration)
        if found { applied = CommitReader(behind: reader.position, epoch: reader.epoch) }
        do throws(CommitLogError) {
            writer = try CommitWriter(
                log,
                behind: reader.end,
                lastEpoch: reader.epoch,
                schema: Self.schema,
                patience: patience
            )
        } catch {
            throw failure(error)
        }
        if !base.isThere || !found {
            base.lost()
            try sendBase(directory)
        }
        guard let position = writer?.position else { return }
        applied = CommitReader(behind: position, epoch: reader.epoch + 1)
    }

    /// Makes the tables those of this version. Returns true if they were.
    private func migrate(
        _ directory: DataDirectory,
        _ configuration: QueueConfiguration
    ) throws(SQLiteError) -> Bool {
        do throws(QueueError) {
            // Readable only by its owner, which SQLite would not see to.
            try directory.createDatabaseFile()
        } catch {
            throw .commitLog(.io, error.description)
        }
        let (_, found) = try QueueDatabase.connect(directory.database, configuration)
        return found == QueueSchema.migrations.count
    }

    /// Writes the log's first whole base as the scratch database. Returns where it begins, because commits may lie between
    /// its pieces; nil: the log is new.
    private func restoreBase(_ directory: DataDirectory) throws(SQLiteError) -> CommitReader? {
        base.lost()
        directory.removeDatabase()
        var draft = BaseDraft(of: directory.database)
        var cursor = CommitCursor(log, CommitReader(behind: .start))
        while let commit = try next(&cursor) {
            if let head = try draft.take(commit) {
                base.found()
                return CommitReader(
                    behind: LogPosition(entry: head.entry - 1, commit: head.number - 1),
                    epoch: head.epoch
                )
            }
        }
        // A base that its writer gave up.
        directory.removeDatabase()
        return nil
    }

    /// Applies the commits behind the reader's position, many in one transaction. Returns where the log ends.
    private func catchUp(
        from reader: CommitReader,
        _ directory: DataDirectory
    ) throws(SQLiteError) -> CommitReader {
        var cursor = CommitCursor(log, reader)
        var scratch: (connection: Connection, transaction: WriteTransaction)?
        var bytes = 0
        while let commit = try next(&cursor) {
            guard commit.kind == .changes else { continue }
            guard base.isThere else { throw .damage("the commit log has commits and no base") }
            if scratch == nil { scratch = try open(directory) }
            try scratch?.transaction.begin()
            try scratch?.connection.apply(commit.body)
            base.grew(by: commit.body.count)
            bytes += commit.body.count
            if bytes >= Self.appliedAtOnce {
                try scratch?.transaction.commit()
                bytes = 0
            }
        }
        try scratch?.transaction.commit()
        return cursor.reader
    }

    private static let appliedAtOnce = 8 << 20

    private func open(
        _ directory: DataDirectory
    ) throws(SQLiteError) -> (Connection, WriteTransaction) {
        let connection = try Connection(directory.database, .scratch)
        try Pragmas.scratch(connection)
        return (connection, try WriteTransaction(connection))
    }

    func trim(before entry: UInt64) throws(SQLiteError) {
        do throws(CommitLogError) {
            try log.trim(before: entry)
        } catch {
            throw failure(error)
        }
    }

    private func next(_ cursor: inout CommitCursor) throws(SQLiteError) -> Commit? {
        let commit: Commit?
        do throws(CommitLogError) {
            commit = try cursor.next()
        } catch {
            throw failure(error)
        }
        guard commit?.schema ?? 0 <= Self.schema else {
            throw .newerSchema(Int(commit?.schema ?? 0), known: Int(Self.schema))
        }
        return commit
    }
}
