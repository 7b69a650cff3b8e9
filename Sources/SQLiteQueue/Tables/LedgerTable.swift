import Queue
import SQLite

extension Ledger {
    /// The ledger as it is stored, even if it is implausible.
    init(_ row: Statement) {
        self.init()
        for (index, account) in Self.accounts.enumerated() {
            self[keyPath: account.count] = row.integer(CInt(index + 1))
        }
    }

    var isPlausible: Bool {
        Self.accounts.allSatisfy { Plausible.counts.contains(self[keyPath: $0.count]) }
    }

    /// The ledger without implausible numbers. One missing number follows from the others; of
    /// several none does.
    var mended: Ledger {
        var mended = self
        var damaged = Self.accounts.map(\.count).filter {
            !Plausible.counts.contains(self[keyPath: $0])
        }
        for count in damaged { mended[keyPath: count] = 0 }
        damaged.removeAll { $0 == \.skipped }
        guard damaged.count == 1, let count = damaged.first else { return mended }
        let missing = count == \.accepted ? mended.settled : mended.accepted - mended.settled
        mended[keyPath: count] = max(0, missing)
        return mended
    }
}

extension Ledger {
    /// Sets the present logs to what was found. Missing logs count as discarded, others as
    /// accepted.
    mutating func close(queued: Int64, dead: Int64) {
        self.queued = queued
        self.dead = dead
        let missing = accepted - settled
        if missing > 0 {
            discarded += missing
        } else {
            accepted -= missing
        }
    }
}

/// The table of ledgers.
final class LedgerTable {
    private let transaction: WriteTransaction
    private let saveOne: Statement
    private let everyOne: Statement

    init(_ transaction: WriteTransaction) throws(SQLiteError) {
        self.transaction = transaction
        saveOne = try transaction.prepare(
            "INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        )
        everyOne = try transaction.prepare("SELECT * FROM ledger")
    }

    func all() throws(SQLiteError) -> [String: Ledger] {
        defer { everyOne.reset() }
        var ledgers: [String: Ledger] = [:]
        while try everyOne.step() {
            let ledger = Ledger(everyOne)
            guard ledger.isPlausible else { throw .damage("a ledger cannot be \(ledger)") }
            ledgers[everyOne.text(0)] = ledger
        }
        return ledgers
    }

    func save(_ ledger: Ledger, of destination: String) throws(SQLiteError) {
        saveOne.bind(1, destination)
        for (index, account) in Ledger.accounts.enumerated() {
            saveOne.bind(CInt(index + 2), ledger[keyPath: account.count])
        }
        try transaction.run(saveOne)
    }
}

/// The table of what became of the logs of requests. It has one row.
final class IntakeTable {
    private let transaction: WriteTransaction
    private let saveOne: Statement
    private let readOne: Statement

    init(_ transaction: WriteTransaction) throws(SQLiteError) {
        self.transaction = transaction
        saveOne = try transaction.prepare("INSERT OR REPLACE INTO intake VALUES (1, ?, ?, ?, ?, ?)")
        readOne = try transaction.prepare(Self.query)
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
        let numbers = [sums.received, sums.filtered, sums.dropped, sums.routed, sums.copies]
        for (index, number) in numbers.enumerated() { saveOne.bind(CInt(index + 1), Int64(number)) }
        try transaction.run(saveOne)
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
