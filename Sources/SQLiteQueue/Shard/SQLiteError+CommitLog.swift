import CommitLog
import SQLite

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
