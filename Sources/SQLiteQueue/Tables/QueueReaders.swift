import Logs
import Queue
import SQLite

/// Reads the queue's database through a connection of its own, so that no question holds up the
/// owner. The connection opens at its first use, cannot write, and never checkpoints. Each question
/// is a transaction of a bounded size, so the log can always start from its beginning.
final class QueueReader<Queries> {
    private let path: String
    private let prepare: (Connection) throws(SQLiteError) -> Queries
    /// False while the owner opens, repairs or replaces the database.
    private var isAllowed = false
    private var open: (connection: Connection, queries: Queries)?

    init(_ path: String, _ prepare: @escaping (Connection) throws(SQLiteError) -> Queries) {
        self.path = path
        self.prepare = prepare
    }

    func allow() { isAllowed = true }

    func close() {
        isAllowed = false
        open = nil
    }

    fileprivate func ask<Answer>(
        _ question: (Queries) throws(SQLiteError) -> Answer
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

    private func opened() throws(SQLiteError) -> Queries {
        if let open { return open.queries }
        let connection = try Connection(path, .readOnly)
        try Pragmas.reader(connection)
        let queries = try prepare(connection)
        open = (connection, queries)
        return queries
    }
}

// MARK: - The content of packets

typealias PayloadReader = QueueReader<Statement>

extension QueueReader<Statement> {
    convenience init(payloadsOf path: String) {
        self.init(path) { connection throws(SQLiteError) in
            try connection.prepare(StoredRow.query)
        }
    }

    /// The rows of the packet, each with its checksum proved.
    func blocks(of packet: SealedPacket) throws(QueueError) -> [StoredBlock] {
        try ask { payloads throws(SQLiteError) in
            payloads.bind(1, packet.streamID.number)
            payloads.bind(2, packet.rows.lowerBound)
            payloads.bind(3, packet.rows.upperBound)
            // The read transaction must end here in every case.
            defer { payloads.reset() }
            var blocks: [StoredBlock] = []
            var logs = 0
            var raw = 0
            while try payloads.step() {
                let row = StoredRow(payloads)
                guard row.isIntact else {
                    throw .damage("row \(row.record.id) has changed on the disk")
                }
                logs += row.record.logs
                raw += row.record.raw
                blocks.append(row.block)
            }
            guard logs == packet.logCount, raw == packet.rawBytes else {
                throw .damage("packet \(packet.number) lacks rows")
            }
            return blocks
        }
    }
}

// MARK: - What people look at

typealias DeadLetterReader = QueueReader<(letters: DeadQueries, rows: RowPeek)>

extension QueueReader<(letters: DeadQueries, rows: RowPeek)> {
    convenience init(lettersOf path: String) {
        self.init(path) { connection throws(SQLiteError) in
            (try DeadQueries(connection), try RowPeek(connection))
        }
    }

    /// Collects one step of a page. Returns the beginning of the next step, or nil at the end.
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
}

/// Reads the oldest rows of a destination's streams, a bounded number of both.
final class RowPeek {
    private static let streamsMax = 64
    private static let rowsMax = 8

    private let streams: Statement
    private let rows: Statement

    init(_ connection: Connection) throws(SQLiteError) {
        streams = try connection.prepare(
            """
            SELECT id, logstore, trailer FROM streams
            WHERE destination = ?1 AND (?2 IS NULL OR logstore = ?2) ORDER BY id LIMIT \(Self.streamsMax)
            """
        )
        rows = try connection.prepare(
            """
            SELECT \(StoredRow.columns) FROM rows INDEXED BY rows_by_stream
            WHERE stream = ?1 ORDER BY id LIMIT \(Self.rowsMax)
            """
        )
    }

    func logs(
        of destination: String,
        logstore: String?,
        limit: Int
    ) throws(SQLiteError) -> [QueuedLog] {
        streams.bind(1, destination)
        streams.bind(2, logstore)
        defer { streams.reset() }
        var found = Found(limit: limit)
        while !found.isFull, try streams.step() {
            let key = StreamKey(
                destination: destination,
                logstore: streams.text(1),
                trailer: GroupTrailer(bytes: streams.bytes(2))
            )
            try collect(streams.integer(0), key, into: &found)
        }
        return found.logs
    }

    private struct Found {
        let limit: Int
        private(set) var logs: [QueuedLog] = []
        private var bytes = 0

        init(limit: Int) { self.limit = limit }

        var isFull: Bool { logs.count >= limit || bytes >= QueuedLog.bytesTogether }

        mutating func append(_ log: QueuedLog) {
            logs.append(log)
            bytes += log.weight
        }
    }

    private func collect(
        _ stream: Int64,
        _ key: StreamKey,
        into found: inout Found
    ) throws(SQLiteError) {
        rows.bind(1, stream)
        defer { rows.reset() }
        while !found.isFull, try rows.step() {
            // A damaged row is the owner's business.
            guard let row = OpenRow(StoredRow(rows)) else { continue }
            row.logs.bytes.withUnsafeBytes { bytes in
                var entries = LogEntries(bytes)
                while !found.isFull, let range = try? entries.next() {
                    let log = UnsafeRawBufferPointer(rebasing: bytes[range])
                    guard let entry = try? LogEntry(log) else { continue }
                    found.append(
                        QueuedLog(stream: key, accepted: row.record.received, entry: entry)
                    )
                }
            }
        }
    }
}
