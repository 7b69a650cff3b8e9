import Queue
import SQLite
import System

/// The table of remembered requests: one prepared statement for each operation, no decisions.
final class RepeatTable {
    private let transaction: WriteTransaction
    private let addOne: Statement
    private let one: Statement
    private let oldestFirst: Statement
    private let removeOldest: Statement
    private let removeOne: Statement

    init(
        _ connection: Connection,
        _ transaction: WriteTransaction
    ) throws(SQLiteError) {
        self.transaction = transaction
        addOne = try connection.prepare("INSERT INTO repeats VALUES (?, ?, ?, ?, ?)")
        one = try connection.prepare("SELECT * FROM repeats WHERE number = ?")
        oldestFirst = try connection.prepare("SELECT * FROM repeats ORDER BY number LIMIT ?")
        removeOldest = try connection.prepare("DELETE FROM repeats WHERE number <= ?")
        removeOne = try connection.prepare("DELETE FROM repeats WHERE number = ? RETURNING digest")
    }

    func add(_ record: RepeatRecord) throws(SQLiteError) {
        transaction.require()
        addOne.bind(1, record.number)
        addOne.bind(2, record.identity.digest)
        addOne.bind(3, record.received.nanoseconds)
        addOne.bind(4, Int64(record.identity.logs))
        addOne.bind(5, record.identity.receipt)
        try addOne.run()
    }

    /// The request of this number. Nil if its row is implausible.
    func record(_ number: Int64) throws(SQLiteError) -> RepeatRecord? {
        one.bind(1, number)
        guard try one.step() else { return nil }
        defer { one.reset() }
        return try? RepeatRecord(one)
    }

    /// Visits number, digest and time of the oldest requests until `visit` returns false.
    func oldest(
        atMost count: Int,
        _ visit: (Statement) -> Bool
    ) throws(SQLiteError) {
        oldestFirst.bind(1, Int64(count))
        while try oldestFirst.step() {
            guard visit(oldestFirst) else { return oldestFirst.reset() }
        }
    }

    func remove(through number: Int64) throws(SQLiteError) {
        transaction.require()
        removeOldest.bind(1, number)
        try removeOldest.run()
    }

    /// Removes one request and returns its digest. Nil if it is not there.
    func remove(_ number: Int64) throws(SQLiteError) -> [UInt8]? {
        transaction.require()
        removeOne.bind(1, number)
        guard try removeOne.step() else { return nil }
        defer { removeOne.reset() }
        return removeOne.bytes(0)
    }
}
