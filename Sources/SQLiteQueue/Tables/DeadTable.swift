import Logs
import Queue
import SQLite
import System

/// The table of dead letters: one prepared statement for each operation, no decisions.
final class DeadTable {
    let queries: DeadQueries
    private let transaction: WriteTransaction
    private let addOne: Statement
    private let replaceOne: Statement
    private let removeOne: Statement
    private let byReason: Statement
    private let byAge: Statement

    init(_ transaction: WriteTransaction) throws(SQLiteError) {
        self.transaction = transaction
        queries = try DeadQueries(transaction.connection)
        let values = """
            (\(DeadRecord.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        addOne = try transaction.prepare("INSERT INTO dead \(values)")
        replaceOne = try transaction.prepare("REPLACE INTO dead \(values)")
        removeOne = try transaction.prepare("DELETE FROM dead WHERE id = ?")
        byReason = try transaction.prepare(
            """
            SELECT destination, code, count(*), sum(cost), max(died), min(cost), min(id), max(id)
            FROM dead INDEXED BY dead_by_reason GROUP BY destination, code
            """
        )
        byAge = try transaction.prepare(
            """
            SELECT \(DeadRecord.columns) FROM dead INDEXED BY dead_by_age
            WHERE died BETWEEN ?1 AND ?2 AND (id > ?3 OR died <= ?4) ORDER BY died
            """
        )
    }

    func add(_ record: DeadRecord) throws(SQLiteError) {
        try write(record, with: addOne)
    }

    /// Replaces the letter with the same id.
    func replace(with record: DeadRecord) throws(SQLiteError) {
        try write(record, with: replaceOne)
    }

    private func write(_ record: DeadRecord, with statement: Statement) throws(SQLiteError) {
        statement.bind(1, record.id)
        statement.bind(2, record.stream.destination)
        statement.bind(3, record.stream.logstore)
        statement.bind(4, record.stream.trailer.bytes)
        statement.bind(5, record.received.nanoseconds)
        statement.bind(6, record.died.nanoseconds)
        statement.bind(7, Int64(record.reason.status ?? 0))
        statement.bind(8, record.reason.code)
        statement.bind(9, record.reason.message)
        statement.bind(10, record.reason.requestID ?? "")
        statement.bind(11, Int64(record.raw))
        statement.bind(12, Int64(record.cost))
        statement.bind(13, record.checksum)
        statement.bind(15, Int64(record.replays))
        try transaction.run(statement, 14, record.payload)
    }

    /// Returns false if the letter was not there.
    func remove(_ id: Int64) throws(SQLiteError) -> Bool {
        removeOne.bind(1, id)
        return try transaction.run(removeOne) == 1
    }

    /// The sums by destination and code. Reads only an index, never a letter.
    func sums() throws(SQLiteError) -> [DeadLetterSum] {
        defer { byReason.reset() }
        var sums: [DeadLetterSum] = []
        while try byReason.step() {
            let name = byReason.text(0)
            let cost = Int(try byReason.integer(3, in: Plausible.counts))
            // A sum may hide a negative number.
            guard byReason.integer(5) > 0 else {
                throw .damage("dead letters of \(name) have negative sizes")
            }
            _ = try byReason.integer(6, in: Plausible.ids)
            _ = try byReason.integer(7, in: Plausible.ids)
            sums.append(
                DeadLetterSum(
                    destination: name,
                    code: byReason.text(1),
                    letters: Int(byReason.integer(2)),
                    bytes: cost,
                    latest: WallTime(nanoseconds: byReason.integer(4))
                )
            )
        }
        return sums
    }

    /// Letters that died within `died`, oldest first. Those up to `inherited` must also have died
    /// before `inheritedUntil`.
    func letters(
        diedIn died: ClosedRange<WallTime>,
        inherited: Int64,
        inheritedUntil: WallTime,
        _ visit: (StoredLetter) -> Bool
    ) throws(SQLiteError) {
        byAge.bind(1, died.lowerBound.nanoseconds)
        byAge.bind(2, died.upperBound.nanoseconds)
        byAge.bind(3, inherited)
        byAge.bind(4, inheritedUntil.nanoseconds)
        while try byAge.step() {
            guard visit(StoredLetter(byAge)) else { return byAge.reset() }
        }
    }
}

/// The queries for dead letters. A walk looks at a bounded number of letters, even if few match.
/// The caller continues from its position in another transaction.
final class DeadQueries {
    static let looksMax = 4000

    // These return the columns that a filter needs, in the order of ids.
    let all: Statement
    let ofDestination: Statement
    private let one: Statement

    init(_ connection: Connection) throws(SQLiteError) {
        all = try connection.prepare(
            """
            SELECT id, logstore, code FROM dead NOT INDEXED
            WHERE id > ?1 AND id <= ?2 ORDER BY id
            """
        )
        ofDestination = try connection.prepare(
            """
            SELECT id, logstore, code FROM dead INDEXED BY dead_by_destination
            WHERE destination = ?3 AND id > ?1 AND id <= ?2 ORDER BY id
            """
        )
        one = try connection.prepare("SELECT \(DeadRecord.columns) FROM dead WHERE id = ?")
    }

    /// The end of a walk.
    struct End {
        /// The last letter that was looked at.
        var position: Int64
        /// True if no letters follow.
        var isLast: Bool
    }

    /// Visits letters behind `id` and up to `last` until `visit` returns false or `most` were seen.
    func letters(
        matching filter: DeadLetterFilter,
        after id: Int64,
        through last: Int64 = .max,
        atMost most: Int = looksMax,
        _ visit: (StoredLetter) -> Bool
    ) throws(SQLiteError) -> End {
        let query = filter.destination == nil ? all : ofDestination
        query.bind(1, id)
        query.bind(2, last)
        if let destination = filter.destination { query.bind(3, destination) }
        defer { query.reset() }
        var end = End(position: id, isLast: false)
        for _ in 0..<most {
            guard try query.step() else {
                end.isLast = true
                return end
            }
            end.position = query.integer(0)
            guard filter.logstore.map({ $0 == query.text(1) }) ?? true,
                filter.code.map({ $0 == query.text(2) }) ?? true
            else { continue }
            guard let letter = try letter(end.position) else {
                throw .damage("dead letter \(end.position) is in an index only")
            }
            guard visit(letter) else { return end }
        }
        return end
    }

    func letter(_ id: Int64) throws(SQLiteError) -> StoredLetter? {
        one.bind(1, id)
        defer { one.reset() }
        return try one.step() ? StoredLetter(one) : nil
    }

    /// Collects letters up to a number, or until their logs have `bytesMax`; at least one.
    struct Portion {
        let lettersMax: Int
        let bytesMax: Int
        private(set) var letters: [StoredLetter] = []
        private var bytes = 0

        init(letters: Int, bytes: Int) {
            lettersMax = letters
            bytesMax = bytes
        }

        /// The content of a page, whose logs are in memory together.
        static func page(limit: Int) -> Self {
            Self(letters: max(1, min(limit, 1000)), bytes: 4 << 20)
        }

        /// Returns true if there is room for one more.
        mutating func take(_ letter: StoredLetter) -> Bool {
            letters.append(letter)
            bytes += letter.bytes
            return !isFull
        }

        var isFull: Bool { letters.count >= lettersMax || bytes >= bytesMax }
    }
}
