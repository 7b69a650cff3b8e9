import CSQLite
import Glibc
package import System

/// A failed call into SQLite, or a failed check of our own. It has the statement's text but never
/// its bound values, which are customers' data.
package struct SQLiteError: Error, CustomStringConvertible {
    /// What the failure means for the queue.
    package enum Kind {
        case full
        case corrupt
        case newerSchema
        /// An older database needs a copy before it is migrated, and there is no room for one.
        case noRoomToKeep
        /// Another gateway writes the commit log.
        case fenced
        /// The engine of the commit log refuses this gateway, or lacks what it needs.
        case refused
        case io
    }

    package let kind: Kind
    package let description: String
    /// The disk could not read back its content; a bad sector if it happens again.
    package let isUnreadable: Bool
    /// What the program knows and what the database holds disagree; either may be wrong.
    package let isOurs: Bool
    /// The log behind the database failed, and not the database.
    package private(set) var isOfCommitLog = false
    /// The database lacks a table or column that the statement names.
    private let lacksTable: Bool

    /// The stored data is damaged, so a retry cannot succeed. Any other error may pass.
    package var isDamage: Bool { !isOfCommitLog && (kind == .corrupt || lacksTable) }

    /// Sorts SQLite's extended result code.
    package init(code: CInt, message: String, sql: String) {
        kind =
            switch code & 0xff {
            case SQLITE_FULL: .full
            // Our numbers never repeat, so a key that exists already means damage.
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_CONSTRAINT: .corrupt
            // A sum overflowed, and no intact rows add up to 2^63.
            case SQLITE_ERROR where message == "integer overflow": .corrupt
            default: .io
            }
        isOurs = code & 0xff == SQLITE_CONSTRAINT
        lacksTable = code & 0xff == SQLITE_ERROR
        // Macros that do not import: SQLITE_IOERR_READ, _SHORT_READ, _DATA, _CORRUPTFS, _IN_PAGE.
        isUnreadable = code & 0xff == SQLITE_IOERR && [1, 2, 32, 33, 34].contains(code >> 8)
        description = "\(message) (SQLite \(code)) in: \(sql)"
    }

    private init(
        _ kind: Kind,
        _ description: String,
        isOurs: Bool = false,
        isUnreadable: Bool = false
    ) {
        self.kind = kind
        self.isOurs = isOurs
        self.isUnreadable = isUnreadable
        lacksTable = false
        self.description = description
    }

    /// Damage that we found and SQLite did not.
    package static func damage(_ description: String) -> SQLiteError {
        SQLiteError(.corrupt, description, isOurs: true)
    }

    /// SQLite works, but not in the way that a queue needs.
    package static func unsuitable(_ description: String) -> SQLiteError {
        SQLiteError(.io, description)
    }

    /// The same error, caused by a full disk.
    package static func full(_ error: SQLiteError) -> SQLiteError {
        SQLiteError(.full, error.description)
    }

    /// A system call outside SQLite failed.
    package static func system(_ error: SystemError, _ path: String) -> SQLiteError {
        let isFull = error.code == ENOSPC || error.code == EDQUOT
        let isUnreadable = error == SystemError(call: "pread", code: EIO)
        return SQLiteError(
            isFull ? .full : .io,
            "\(error) of \(path)",
            isUnreadable: isUnreadable
        )
    }

    /// The commit log took no commit, or could not be read. The database is as sound as before.
    package static func commitLog(_ kind: Kind, _ description: String) -> SQLiteError {
        var error = SQLiteError(kind, description)
        error.isOfCommitLog = true
        return error
    }

    package static func noRoomToKeep(_ description: String) -> SQLiteError {
        SQLiteError(.noRoomToKeep, description)
    }

    /// The database has a newer schema than this version knows.
    package static func newerSchema(_ found: Int, known: Int) -> SQLiteError {
        SQLiteError(.newerSchema, "schema \(found), and this version knows \(known)")
    }
}
