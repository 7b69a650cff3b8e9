import SQLite

/// Makes transactions durable in place of the database: their changes go there before the database
/// commits them.
protocol ChangeLog: AnyObject {
    /// Appends the changes of a transaction. They are durable when it returns. If it throws, the
    /// log may have them or not: the caller closes the store and opens it again from the log.
    func publish(_ changes: [UInt8]) throws(SQLiteError)

    /// The database has committed. Also called if nothing was published.
    func committed()
}
