/// Reads dead letters through a connection of its own, so that a list holds up neither the owner nor
/// delivery. It is opened when it is first needed, cannot write, and never checkpoints; each question is a
/// transaction of a bounded size, so the log can always be used anew.
final class DeadLetterReader {
    private static let lettersMax = 1000
    /// Of the logs of one page, which are in memory together.
    private static let pageBytesMax = 4 << 20

    private let path: String
    /// Closed while the owner opens, repairs or replaces the database.
    private var isAllowed = false
    private var open: (connection: Connection, queries: DeadQueries)?

    init(_ path: String) {
        self.path = path
    }

    func allow() {
        isAllowed = true
    }

    func close() {
        isAllowed = false
        open = nil
    }

    func page(
        _ filter: DeadLetterFilter,
        after id: Int64,
        limit: Int
    ) throws(QueueError) -> DeadLetterPage {
        let most = max(1, min(limit, Self.lettersMax))
        return try ask { queries throws(SQLiteError) in
            var portion = DeadQueries.Portion(letters: most, bytes: Self.pageBytesMax)
            try queries.letters(matching: filter, after: id) { portion.take($0) }
            return DeadLetterPage(
                letters: portion.letters.map(\.letter),
                next: portion.isFull ? portion.letters.last?.record.id : nil
            )
        }
    }

    func letter(_ id: Int64) throws(QueueError) -> DeadLetter? {
        try ask { queries throws(SQLiteError) in try queries.letter(id)?.letter }
    }

    func sums() throws(QueueError) -> [DeadLetterSum] {
        try ask { queries throws(SQLiteError) in try queries.sums() }
    }

    private func ask<Answer>(
        _ question: (DeadQueries) throws(SQLiteError) -> Answer
    ) throws(QueueError) -> Answer {
        guard isAllowed else {
            throw QueueError(.io, "\(path) is not open at the moment; try again later.")
        }
        do throws(SQLiteError) {
            return try question(try opened())
        } catch {
            open = nil
            throw QueueError(error, path: path)
        }
    }

    private func opened() throws(SQLiteError) -> DeadQueries {
        if let open { return open.queries }
        let connection = try Connection(path, .readOnly)
        try Pragmas.reader(connection)
        let new = (connection, try DeadQueries(connection))
        open = new
        return new.1
    }
}
