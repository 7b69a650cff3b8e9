import Logs
import Queue
import SQLite
import System

/// Reads the oldest rows of a destination's streams. It looks at a bounded number of streams and
/// rows.
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
