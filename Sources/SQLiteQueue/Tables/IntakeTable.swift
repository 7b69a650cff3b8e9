import Queue
import SQLite

/// The table of what became of the logs of requests. It has one row.
final class IntakeTable {
    private let transaction: WriteTransaction
    private let saveOne: Statement
    private let readOne: Statement

    init(
        _ connection: Connection,
        _ transaction: WriteTransaction
    ) throws(SQLiteError) {
        self.transaction = transaction
        saveOne = try connection.prepare("INSERT OR REPLACE INTO intake VALUES (1, ?, ?, ?, ?, ?)")
        readOne = try connection.prepare(Self.query)
    }

    private static let query = "SELECT received, filtered, dropped, routed, copies FROM intake"

    /// The stored sums. Nil if there is no row or if a number is implausible.
    func sums() throws(SQLiteError) -> IntakeTally? { try Self.sums(readOne) }

    /// The same of a database that may be damaged.
    static func sums(_ connection: Connection) throws(SQLiteError) -> IntakeTally? {
        try sums(connection.prepare(query))
    }

    private static func sums(_ one: Statement) throws(SQLiteError) -> IntakeTally? {
        defer { one.reset() }
        guard try one.step() else { return nil }
        let numbers = (0..<5).map { one.integer(CInt($0)) }
        guard numbers.allSatisfy(Plausible.counts.contains) else { return nil }
        return IntakeTally(
            received: Int(numbers[0]),
            filtered: Int(numbers[1]),
            dropped: Int(numbers[2]),
            routed: Int(numbers[3]),
            copies: Int(numbers[4])
        )
    }

    func save(_ sums: IntakeTally) throws(SQLiteError) {
        transaction.require()
        let numbers = [sums.received, sums.filtered, sums.dropped, sums.routed, sums.copies]
        for (index, number) in numbers.enumerated() { saveOne.bind(CInt(index + 1), Int64(number)) }
        try saveOne.run()
    }
}

extension QueueDatabase {
    /// Makes the stored tally agree with the stored ledgers, which a salvage has changed.
    func settleIntake() throws(SQLiteError) {
        var sums = try intake.sums() ?? IntakeTally()
        sums.settle(with: try ledgers.all().values.reduce(Ledger()) { $0 + $1 })
        try intake.save(sums)
    }
}
