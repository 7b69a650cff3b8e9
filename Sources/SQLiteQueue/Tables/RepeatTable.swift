import Queue
import SQLite
import System

/// A remembered request as it is stored.
struct RepeatRecord {
    let number: Int64
    let identity: BatchIdentity
    let received: WallTime
}

extension RepeatRecord {
    static let digestBytes = 16

    /// Takes the columns number, digest, received, logs, receipt. Throws if it is no request of
    /// ours: its repetition counts as a new one, and no damaged receipt gets into an answer.
    init(_ row: Statement) throws(SQLiteError) {
        number = try row.integer(0, in: Plausible.ids)
        identity = BatchIdentity(
            digest: row.bytes(1),
            receipt: row.bytes(4),
            logs: Int(try row.integer(3, in: Plausible.counts))
        )
        received = WallTime(nanoseconds: max(0, row.integer(2)))
        let isText = identity.receipt.allSatisfy { (0x21...0x7E).contains($0) }
        guard identity.digest.count == Self.digestBytes, isText else {
            throw .damage("request \(number) is not as it was remembered")
        }
    }
}

extension BatchIdentity {
    /// The cost on disk, with the row's numbers and the ends of pages.
    var cost: Int { digest.count + receipt.count + 64 }
}

/// The table of remembered requests: one prepared statement for each operation, no decisions.
final class RepeatTable {
    private let transaction: WriteTransaction
    private let addOne: Statement
    private let one: Statement
    private let oldestFirst: Statement
    private let removeOldest: Statement
    private let removeOne: Statement

    init(_ transaction: WriteTransaction) throws(SQLiteError) {
        self.transaction = transaction
        addOne = try transaction.prepare("INSERT INTO repeats VALUES (?, ?, ?, ?, ?)")
        one = try transaction.prepare("SELECT * FROM repeats WHERE number = ?")
        oldestFirst = try transaction.prepare("SELECT * FROM repeats ORDER BY number LIMIT ?")
        removeOldest = try transaction.prepare("DELETE FROM repeats WHERE number <= ?")
        removeOne = try transaction.prepare("DELETE FROM repeats WHERE number = ? RETURNING digest")
    }

    func add(_ record: RepeatRecord) throws(SQLiteError) {
        addOne.bind(1, record.number)
        addOne.bind(2, record.identity.digest)
        addOne.bind(3, record.received.nanoseconds)
        addOne.bind(4, Int64(record.identity.logs))
        addOne.bind(5, record.identity.receipt)
        try transaction.run(addOne)
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
        removeOldest.bind(1, number)
        try transaction.run(removeOldest)
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
