import Queue
import SQLite
import System

/// The queries for dead letters, for the owner and for the connection that reads.
///
/// A walk looks at a bounded number of letters, even if few match. The caller continues from the
/// walk's position in another transaction.
final class DeadQueries {
    static let looksMax = 4000

    // These return the columns that a filter needs, in the order of ids. `one` reads a letter if it
    // is wanted.
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

    /// Visits letters behind `id` and up to `last` in order. Stops when `visit` returns false or
    /// `most` letters were looked at.
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
}

extension DeadQueries {
    /// Collects letters until there are `lettersMax`, or until their logs have `bytesMax`. Takes at
    /// least one.
    struct Portion {
        let lettersMax: Int
        let bytesMax: Int
        private(set) var letters: [StoredLetter] = []
        private var bytes = 0

        init(letters: Int, bytes: Int) {
            lettersMax = letters
            bytesMax = bytes
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
