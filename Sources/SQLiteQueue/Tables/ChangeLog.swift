import SQLite

/// What lasts instead of the database: each transaction's changes go there before they are committed here.
protocol ChangeLog: AnyObject {
    /// Appends the changes of a transaction. They are durable when it returns. If it throws, nobody knows whether they
    /// are there, and the database must be read anew.
    func publish(_ changes: [UInt8]) throws(SQLiteError)

    /// Called when the database has them, too.
    func committed()
}
