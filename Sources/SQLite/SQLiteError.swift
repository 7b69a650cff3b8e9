import CSQLite
import Glibc
package import System

/// A call into SQLite that failed, or a check of ours. Carries the statement's text but never its bound
/// values: those are customers' data.
package struct SQLiteError: Error, CustomStringConvertible {
    /// What the failure means for the store.
    package enum Kind {
        case full
        case corrupt
        case newerSchema
        /// Of an older database no copy can be kept before it is changed.
        case noRoomToKeep
        case io
    }

    package let kind: Kind
    package let description: String
    /// The disk did not give what is stored on it: a bad sector, when it happens again.
    package let isUnreadable: Bool
    /// What we know and what is stored disagree: either may be wrong.
    package let isOurs: Bool
    /// The database lacks a table or column that the statement names.
    package let lacksTable: Bool

    /// What is stored cannot be used, and no later attempt finds it otherwise. Any other error may pass.
    package var isDamage: Bool { kind == .corrupt || lacksTable }

    /// From SQLite's extended result code.
    package init(code: CInt, message: String, sql: String) {
        kind =
            switch code & 0xff {
            case SQLITE_FULL: .full
            // Our numbers never repeat, so a key that exists already is damage as well.
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_CONSTRAINT: .corrupt
            // Of a sum, and nothing we store adds up to 2^63.
            case SQLITE_ERROR where message == "integer overflow": .corrupt
            default: .io
            }
        isOurs = code & 0xff == SQLITE_CONSTRAINT
        lacksTable = code & 0xff == SQLITE_ERROR
        // SQLITE_IOERR_READ, _SHORT_READ, _DATA, _CORRUPTFS and _IN_PAGE are macros that do not import.
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

    /// What we find wrong although SQLite did not.
    package static func damage(_ description: String) -> SQLiteError {
        SQLiteError(.corrupt, description, isOurs: true)
    }

    /// SQLite works, but not as a queue needs it.
    package static func unsuitable(_ description: String) -> SQLiteError {
        SQLiteError(.io, description)
    }

    /// The same, because no space is left.
    package static func full(_ error: SQLiteError) -> SQLiteError {
        SQLiteError(.full, error.description)
    }

    /// A call outside SQLite.
    package static func system(_ error: SystemError, _ path: String) -> SQLiteError {
        let isFull = error.code == ENOSPC || error.code == EDQUOT
        let isUnreadable = error == SystemError(call: "pread", code: EIO)
        return SQLiteError(
            isFull ? .full : .io,
            "\(error) of \(path)",
            isUnreadable: isUnreadable
        )
    }

    package static func noRoomToKeep(_ description: String) -> SQLiteError {
        SQLiteError(.noRoomToKeep, description)
    }

    /// The database has a schema that this version does not know.
    package static func newerSchema(_ found: Int, known: Int) -> SQLiteError {
        SQLiteError(.newerSchema, "schema \(found), and this one knows \(known)")
    }
}
