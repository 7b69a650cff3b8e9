import SQLite

/// Makes transactions durable in place of the database: their changes go there before the database commits them.
protocol ChangeLog: AnyObject {
    /// Appends the changes of a transaction. They are durable when it returns. If it throws, nobody knows whether they
    /// are there, and the database must be read anew.
    func publish(_ changes: [UInt8]) throws(SQLiteError)

    /// The database has committed. Also called if nothing was published.
    func committed()
}
