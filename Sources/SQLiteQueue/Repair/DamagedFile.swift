import SQLite
import System

/// A damaged database beside a connection to it: its pages as SQLite reads them, and the rule for
/// unreadable content. It must exist as long as the connection.
///
/// Damage stays, so content that it hit is lost. A read error may pass: it ends the reading, and
/// the caller tries again later. Only the last attempt skips content that is still unreadable, so a
/// bad sector costs no more than its content.
final class DamagedFile {
    let pages: StoredPages
    /// True if all attempts are used up. Content that is still unreadable is then lost.
    var skipsUnreadable: Bool
    /// True if it skipped content that a later attempt may be able to read.
    private(set) var hasSkipped = false
    /// The read error that ended the reading.
    private(set) var readError: SQLiteError?

    init(_ database: String, skippingUnreadable skips: Bool = true) {
        pages = StoredPages(of: database, .asRead)
        skipsUnreadable = skips
    }

    /// Returns if the caller must continue without the content that `error` hides. Throws the error
    /// if it may pass.
    func skip(_ error: SQLiteError) throws(SQLiteError) {
        if error.isDamage { return }
        if error.isUnreadable, skipsUnreadable {
            hasSkipped = true
            return
        }
        readError = error
        throw error
    }

    /// Reads at most twice. Nil if the content is lost.
    func readable<Value>(
        _ read: () throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> Value? {
        do throws(SQLiteError) {
            return try read()
        } catch {
            if error.isUnreadable, let value = try? read() { return value }
            try skip(error)
            return nil
        }
    }
}
