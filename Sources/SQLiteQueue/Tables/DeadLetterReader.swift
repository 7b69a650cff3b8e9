import Queue
import SQLite

/// Reads dead letters and waiting logs through a separate connection, so that a list holds up
/// neither the owner nor delivery. The connection opens at its first use, cannot write, and never
/// checkpoints. Each question is a transaction of a bounded size, so the log can always start from
/// its beginning.
final class DeadLetterReader {
    private static let lettersMax = 1000
    /// The bytes of the logs of one page, which are in memory together.
    private static let pageBytesMax = 4 << 20

    private let path: String
    /// False while the owner opens, repairs or replaces the database.
    private var isAllowed = false
    private var open: Open?

    private struct Open {
        let connection: Connection
        let letters: DeadQueries
        let rows: RowPeek
    }

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
        let end = try ask { open throws(SQLiteError) in
            try open.letters.letters(matching: filter, after: id) { collected.take($0) }
        }
        portion = collected
        return end.isLast ? nil : end.position
    }

    func letter(_ id: Int64) throws(QueueError) -> StoredLetter? {
        try ask { open throws(SQLiteError) in try open.letters.letter(id) }
    }

    func oldestLogs(
        of destination: String,
        logstore: String?,
        limit: Int
    ) throws(QueueError) -> [QueuedLog] {
        try ask { open throws(SQLiteError) in
            try open.rows.logs(of: destination, logstore: logstore, limit: limit)
        }
    }

    private func ask<Answer>(
        _ question: (Open) throws(SQLiteError) -> Answer
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

    private func opened() throws(SQLiteError) -> Open {
        if let open { return open }
        let connection = try Connection(path, .readOnly)
        try Pragmas.reader(connection)
        let new = Open(
            connection: connection,
            letters: try DeadQueries(connection),
            rows: try RowPeek(connection)
        )
        open = new
        return new
    }
}
