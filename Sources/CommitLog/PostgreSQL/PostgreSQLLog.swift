package import System

/// A shard's commit log in a table of PostgreSQL: a row for each entry, with shard and number as its key. The fence is that
/// key, and the condition that the number follows the last one.
///
/// Two connections: appends that wait for a standby must not hold up a reader.
package final class PostgreSQLLog: CommitLogEngine {
    private static let timeout = Duration.seconds(2)
    /// Rows that one statement returns at most.
    private static let rowsMax: Int64 = 1024

    private let shard: ShardTable
    private let writer: Locked<PostgreSQLLink>
    private let reader: Locked<PostgreSQLLink>

    /// `isSynced` demands that a commit is on the disks of the server and of a copy before it is confirmed.
    package init(_ settings: PostgreSQLSettings, isSynced: Bool, journal: Journal) {
        shard = ShardTable(settings)
        writer = Locked(PostgreSQLLink(settings, isSynced: isSynced, journal))
        reader = Locked(PostgreSQLLink(settings, isSynced: isSynced, journal))
    }

    package var bytesMax: Int? { nil }

    package func open() throws(CommitLogError) {
        try reader.withLock { link throws(CommitLogError) in
            let deadline = Moment.now + Self.timeout * 2
            guard try !shard.isThere(&link, deadline) else { return }
            for statement in shard.creation { _ = try link.run(statement, [], until: deadline) }
        }
    }

    package func check() throws(CommitLogError) -> String {
        try reader.withLock { link throws(CommitLogError) in
            let deadline = Moment.now + Self.timeout * 2
            let isThere = try shard.isThere(&link, deadline)
            let server = try link.description(until: deadline)
            guard isThere else {
                return "\(server); the table \(shard.table) is made at the first start"
            }
            let entries = try link.run(shard.count, [.text(shard.name)], until: deadline)
            return
                "\(server); the table \(shard.table) has \(entries.number(0, 0) ?? 0) entries of this node"
        }
    }

    // MARK: - Appending

    package func append(
        _ parts: [[UInt8]],
        after last: UInt64,
        id: AppendID,
        until deadline: Moment
    ) -> AppendAnswer {
        writer.withLock { link in
            do throws(CommitLogError) {
                let append = PostgreSQLLink.Append(id: id, last: last, parts: parts.count)
                guard try link.begin(append, deadline, { shard.insertion(parts, after: last) })
                else {
                    return .unreachable("an earlier append has no answer yet")
                }
            } catch {
                switch error.kind {
                case .noRoom: return .noRoom(error.description)
                case .refused: return .refused(error.description)
                default: return .unreachable(error.description)
                }
            }
            switch link.outcome(until: deadline) {
            case .done(let count) where count == parts.count && !link.takeDoubt():
                return .appended(last + UInt64(parts.count))
            case .done(0), .taken:
                let deadline = max(deadline, .now + .milliseconds(500))
                // What is there must be as durable as if it had been appended by this call.
                do throws(CommitLogError) {
                    _ = try link.run(ShardTable.barrier, [], until: deadline)
                    return link.takeDoubt() ? .unknown(Self.unconfirmed) : .fenced
                } catch {
                    return .unknown(error.description)
                }
            case .done: return .unknown(Self.unconfirmed)
            case .noRoom(let text): return .noRoom(text)
            case .unknown(let text): return .unknown(text)
            }
        }
    }

    private static let unconfirmed = "the server did not wait for its standby"

    // MARK: - Reading

    package func read(
        from number: UInt64,
        atMost bytes: Int
    ) throws(CommitLogError) -> [NumberedEntry] {
        try reader.withLock { link throws(CommitLogError) in
            let values: [PostgreSQLSession.Value] = [
                .text(shard.name), .number(Int64(clamping: number)), .number(Int64(bytes)),
                .number(Self.rowsMax),
            ]
            let deadline = Moment.now + Self.timeout * 4
            // An entry that was committed without its standby must not be taken for durable.
            _ = try link.run(ShardTable.barrier, [], until: deadline)
            guard !link.takeDoubt() else { throw CommitLogError(.unreachable, Self.unconfirmed) }
            let rows = try link.run(shard.selection, values, until: deadline)
            var entries: [NumberedEntry] = []
            entries.reserveCapacity(rows.rowCount)
            for row in 0..<rows.rowCount {
                guard let number = rows.number(row, 0), number > 0, let body = rows.bytes(row, 1)
                else {
                    throw CommitLogError(.damaged, "the table \(shard.table) has another form")
                }
                entries.append(NumberedEntry(number: UInt64(number), bytes: body))
            }
            if entries.isEmpty {
                let last = try link.run(shard.lastNumber, [.text(shard.name)], until: deadline)
                    .number(0, 0)
                guard number == UInt64(clamping: last ?? 0) + 1 else {
                    throw CommitLogError(
                        .damaged,
                        "the table \(shard.table) ends with entry \(last ?? 0) of node \(shard.name), but "
                            + "there was an entry \(number - 1)"
                    )
                }
            }
            return entries
        }
    }

    package func trim(before number: UInt64) throws(CommitLogError) {
        try reader.withLock { link throws(CommitLogError) in
            let values: [PostgreSQLSession.Value] = [
                .text(shard.name), .number(Int64(clamping: number)),
            ]
            _ = try link.run(shard.deletion, values, until: .now + Self.timeout * 4)
        }
    }
}

/// The table of a cluster's logs, and the statements on the rows of one shard.
struct ShardTable: Sendable {
    /// A transaction of its own that changes nothing: once it is confirmed, all before it is.
    static let barrier = "SELECT pg_logical_emit_message(true, 'sluice', '')::text"

    let table: String
    /// The shard.
    let name: String

    init(_ settings: PostgreSQLSettings) {
        table = "sluice_\(settings.cluster)_log"
        name = settings.node
    }

    /// A cluster's name has letters, digits, `-` and `_`.
    private var quoted: String { "\"\(table)\"" }

    func isThere(_ link: inout PostgreSQLLink, _ deadline: Moment) throws(CommitLogError) -> Bool {
        let found = try link.run("SELECT to_regclass($1)::text", [.text(quoted)], until: deadline)
        return found.text(0, 0) != nil
    }

    var creation: [String] {
        [
            """
            CREATE TABLE IF NOT EXISTS \(quoted) (
                shard text NOT NULL, number bigint NOT NULL, body bytea NOT NULL,
                PRIMARY KEY (shard, number)
            )
            """,
            // Entries are compressed, and each is written and deleted once.
            """
            ALTER TABLE \(quoted) ALTER COLUMN body SET STORAGE EXTERNAL,
                SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
                     toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 200000)
            """,
        ]
    }

    /// Inserts all parts or none, if `last` is the last number. A rival that inserts at the same moment has the same key.
    func insertion(_ parts: [[UInt8]], after last: UInt64) -> (String, [PostgreSQLSession.Value]) {
        let rows = parts.indices.map { "($2::bigint + \($0 + 1), $\($0 + 3)::bytea)" }
        let sql = """
            INSERT INTO \(quoted) (shard, number, body)
            SELECT $1, part.number, part.body FROM (VALUES \(rows.joined(separator: ", "))) AS part (number, body)
            WHERE $2 = (\(lastNumber))
            """
        let values: [PostgreSQLSession.Value] = [.text(name), .number(Int64(clamping: last))]
        return (sql, values + parts.map { .bytes($0) })
    }

    /// The last number; 0: there is none.
    var lastNumber: String { "SELECT coalesce(max(number), 0) FROM \(quoted) WHERE shard = $1" }

    /// Rows in order, until those before have the bytes.
    var selection: String {
        """
        SELECT number, body FROM (
            SELECT number, body, octet_length(body) AS size,
                sum(octet_length(body)) OVER (ORDER BY number ROWS UNBOUNDED PRECEDING) AS total
            FROM (
                SELECT number, body FROM \(quoted) WHERE shard = $1 AND number >= $2
                ORDER BY number LIMIT $4
            ) AS next
        ) AS summed WHERE total - size < $3 ORDER BY number
        """
    }

    /// The last row stays: it has the number that the next one follows.
    var deletion: String {
        "DELETE FROM \(quoted) WHERE shard = $1 AND number < least($2, (\(lastNumber)))"
    }

    var count: String { "SELECT count(*) FROM \(quoted) WHERE shard = $1" }
}
