import Glibc
import Queue
import SQLite

extension QueueError {
    init(_ error: SQLiteError, path: String) {
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
        case .fenced:
            self.init(.fenced, "the shard of \(path) belongs to another gateway now: \(error).")
        case .io:
            self.init(
                .io,
                "\(path): the queue's database cannot be used; check the disk. \(error)."
            )
        }
    }
}
