import CommitLog
import Glibc
import Queue
import SQLite

extension QueueError {
    init(_ error: SQLiteError, path: String) {
        guard !error.isOfCommitLog else {
            self.init(ofCommitLog: error)
            return
        }
        switch error.kind {
        case .full:
            self.init(.diskFull, "\(path): no space is left for the queue; free some. \(error).")
        case .corrupt:
            self.init(.corrupt, "\(path): the queue's database is damaged: \(error).")
        case .newerSchema:
            let kept = "queue.schema-\(QueueSchema.migrations.count).db"
            let isKept = access("\(DataDirectory.parent(of: path))/\(kept)", F_OK) == 0
            let wayBack = isKept ? " go back to the copy that it kept as \(kept)," : ""
            self.init(
                .newerSchema,
                "\(path) was written by a newer Sluice (\(error)); run that version,\(wayBack) or move "
                    + "the file and its -wal away, together."
            )
        case .noRoomToKeep:
            self.init(.diskFull, "\(path) \(error).")
        // Only a commit log is fenced or refuses.
        case .io, .fenced, .refused:
            self.init(
                .io,
                "\(path): the queue's database cannot be used; check the disk. \(error)."
            )
        }
    }

    private init(ofCommitLog error: SQLiteError) {
        switch error.kind {
        case .fenced:
            self.init(
                .fenced,
                "another gateway has this one's shard now; if two run under one node name, give each its own, "
                    + "or stop the other one and restart this one: \(error)."
            )
        case .full:
            self.init(.commitLogFull, "the commit log has no room; give it more: \(error).")
        case .corrupt:
            self.init(.commitLogDamaged, "the commit log is damaged; see its engine: \(error).")
        case .newerSchema:
            self.init(
                .newerSchema,
                "a newer Sluice wrote the commit log; run that version: \(error)."
            )
        case .refused:
            self.init(.refused, "the commit log cannot be used: \(error).")
        case .io, .noRoomToKeep:
            self.init(
                .unreachable,
                "the commit log cannot be reached; the queue tries again: \(error)."
            )
        }
    }
}

/// The errors of the body name the path.
func withSQLiteErrors<Value: ~Copyable>(
    of path: String,
    _ body: () throws(SQLiteError) -> Value
) throws(QueueError) -> Value {
    do throws(SQLiteError) {
        return try body()
    } catch {
        throw QueueError(error, path: path)
    }
}

/// Runs calls of a commit log.
func withCommitLogErrors<Value>(
    _ calls: () throws(CommitLogError) -> Value
) throws(SQLiteError) -> Value {
    do throws(CommitLogError) {
        return try calls()
    } catch {
        throw SQLiteError(error)
    }
}

extension SQLiteError {
    /// The log behind the database failed, and not the database.
    init(_ error: CommitLogError) {
        let kind: Kind =
            switch error.kind {
            case .fenced: .fenced
            case .noRoom: .full
            case .unreachable: .io
            case .refused, .missing: .refused
            case .damaged: .corrupt
            case .newer: .newerSchema
            }
        self = .commitLog(kind, error.description)
    }
}
