import SQLite
import System

/// A damaged database beside a connection to it: its pages as SQLite reads them, and the rule for what cannot be read.
/// It has to live as long as the connection.
///
/// Damage stays, so what it hit is lost. A read error may pass: it ends the reading, which the caller tries again
/// later. Only the last attempt skips what still cannot be read, so that a bad sector costs no more than it holds.
final class DamagedFile {
    let pages: StoredPages
    /// The attempts are used up: what still cannot be read is lost.
    var skipsUnreadable: Bool
    /// Something was skipped that a later attempt may be able to read.
    private(set) var hasSkipped = false
    /// The read error that ended the reading.
    private(set) var readError: SQLiteError?

    init(_ database: String, skippingUnreadable skips: Bool = true) {
        pages = StoredPages(of: database, .asRead)
        skipsUnreadable = skips
    }

    /// Returns when the caller is to go on without what `error` hides, and throws it when it may pass.
    func skip(_ error: SQLiteError) throws(SQLiteError) {
        if error.isDamage { return }
        if error.isUnreadable, skipsUnreadable {
            hasSkipped = true
            return
        }
        readError = error
        throw error
    }

    /// Reads at most twice. Nil where what is asked for is lost.
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
