import System

/// What is asked about dead letters, by the owner and through the connection that reads.
final class DeadQueries {
    private let all: Statement
    private let ofDestination: Statement
    private let one: Statement
    private let byReason: Statement

    init(_ connection: Connection) throws(SQLiteError) {
        let filter = """
            id > ?1 AND id <= ?2
            AND (?3 IS NULL OR logstore = ?3) AND (?4 IS NULL OR code = ?4) ORDER BY id
            """
        all = try connection.prepare("SELECT \(DeadRecord.columns) FROM dead WHERE \(filter)")
        ofDestination = try connection.prepare(
            """
            SELECT \(DeadRecord.columns) FROM dead INDEXED BY dead_by_destination
            WHERE destination = ?5 AND \(filter)
            """
        )
        one = try connection.prepare("SELECT \(DeadRecord.columns) FROM dead WHERE id = ?")
        byReason = try connection.prepare(
            """
            SELECT destination, code, count(*), sum(cost), max(died)
            FROM dead INDEXED BY dead_by_reason GROUP BY destination, code
            """
        )
    }

    /// Visits those behind `id` and up to `last` in order, until `visit` has enough and returns false.
    func letters(
        matching filter: DeadLetterFilter,
        after id: Int64,
        through last: Int64 = .max,
        _ visit: (StoredLetter) -> Bool
    ) throws(SQLiteError) {
        let query = filter.destination == nil ? all : ofDestination
        query.bind(1, id)
        query.bind(2, last)
        query.bind(3, filter.logstore)
        query.bind(4, filter.code)
        if let destination = filter.destination { query.bind(5, destination) }
        while try query.step() {
            guard visit(StoredLetter(query)) else { return query.reset() }
        }
    }

    func letter(_ id: Int64) throws(SQLiteError) -> StoredLetter? {
        one.bind(1, id)
        defer { one.reset() }
        return try one.step() ? StoredLetter(one) : nil
    }

    func sums() throws(SQLiteError) -> [DeadLetterSum] {
        var sums: [DeadLetterSum] = []
        while try byReason.step() {
            sums.append(
                DeadLetterSum(
                    destination: byReason.text(0),
                    code: byReason.text(1),
                    letters: Int(byReason.integer(2)),
                    bytes: Int(byReason.integer(3)),
                    latest: .init(nanoseconds: byReason.integer(4))
                )
            )
        }
        return sums
    }
}

extension DeadQueries {
    /// Collects letters until there are `lettersMax`, or their logs have `bytesMax`; one at least.
    struct Portion {
        let lettersMax: Int
        let bytesMax: Int
        private(set) var letters: [StoredLetter] = []
        private var bytes = 0

        init(letters: Int, bytes: Int) {
            lettersMax = letters
            bytesMax = bytes
        }

        /// Returns whether there is room for one more.
        mutating func take(_ letter: StoredLetter) -> Bool {
            letters.append(letter)
            bytes += letter.bytes
            return !isFull
        }

        var isFull: Bool { letters.count >= lettersMax || bytes >= bytesMax }
    }
}
