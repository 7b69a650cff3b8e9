import Queue
import SQLite

/// The table of what became of the logs of requests. It has one row.
final class IntakeTable {
    private let transaction: WriteTransaction
    private let saveOne: Statement

    init(
        _ connection: Connection,
        _ transaction: WriteTransaction
    ) throws(SQLiteError) {
        self.transaction = transaction
        saveOne = try connection.prepare("INSERT OR REPLACE INTO intake VALUES (1, ?, ?, ?, ?, ?)")
    }

    /// The stored sums. Nil if there is no row or if a number is implausible.
    static func sums(_ connection: Connection) throws(SQLiteError) -> IntakeTally? {
        let one = try connection.prepare(
            "SELECT received, filtered, dropped, routed, copies FROM intake"
        )
        guard try one.step() else { return nil }
        defer { one.reset() }
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
        var sums = try IntakeTable.sums(connection) ?? IntakeTally()
        sums.settle(with: try ledgers.all().values.reduce(Ledger()) { $0 + $1 })
        try intake.save(sums)
    }
}
