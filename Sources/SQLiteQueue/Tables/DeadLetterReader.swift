import Queue
import SQLite

/// Reads dead letters through a separate connection, so that a list holds up neither the owner nor delivery. The
/// connection opens at its first use, cannot write, and never checkpoints. Each question is a transaction of a bounded
/// size, so the log can always start from its beginning.
final class DeadLetterReader {
    private static let lettersMax = 1000
    /// The bytes of the logs of one page, which are in memory together.
    private static let pageBytesMax = 4 << 20

    private let path: String
    /// False while the owner opens, repairs or replaces the database.
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

    /// The content of a page. The caller collects it in several steps.
    static func portion(limit: Int) -> DeadQueries.Portion {
        DeadQueries.Portion(letters: max(1, min(limit, lettersMax)), bytes: pageBytesMax)
    }

    /// Runs one step. Returns the beginning of the next step, or nil at the end.
    func collect(
        _ filter: DeadLetterFilter,
        after id: Int64,
        into portion: inout DeadQueries.Portion
    ) throws(QueueError) -> Int64? {
        var collected = portion
        let end = try ask { queries throws(SQLiteError) in
            try queries.letters(matching: filter, after: id) { collected.take($0) }
        }
        portion = collected
        return end.isLast ? nil : end.position
    }

    func letter(_ id: Int64) throws(QueueError) -> DeadLetter? {
        try ask { queries throws(SQLiteError) in try queries.letter(id)?.letter }
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
