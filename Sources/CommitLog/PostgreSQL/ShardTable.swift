import System

/// The table of a cluster's logs, and the statements on the rows of one shard. Row 0 of a shard has the last number in its
/// body.
struct ShardTable: Sendable {
    let table: String
    /// The shard.
    let name: String

    init(_ settings: PostgreSQLSettings) {
        table = "sluice_\(settings.cluster)_log"
        name = settings.node
    }

    /// A cluster's name has letters, digits, `-` and `_`.
    private var quoted: String { "\"\(table)\"" }

    // MARK: - Durability

    /// Makes the transaction wait for the standby, whatever session it runs in: a pooler may give each transaction another
    /// one.
    private static func synced(_ isSynced: Bool) -> String {
        guard isSynced else { return "SELECT 1" }
        return """
            SELECT set_config('client_min_messages', 'warning', true),
                set_config('synchronous_commit',
                    CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply'
                        ELSE 'on' END, true)
            """
    }

    /// A transaction of its own that changes nothing: once it is confirmed, all before it is.
    static func barrier(isSynced: Bool) -> String {
        """
        WITH synced AS MATERIALIZED (\(synced(isSynced)))
        SELECT pg_logical_emit_message(true, 'sluice', '')::text FROM synced
        """
    }

    // MARK: - The table

    func isThere(_ link: inout PostgreSQLLink, _ deadline: Moment) throws(CommitLogError) -> Bool {
        let found = try link.run("SELECT to_regclass($1)::text", [.text(quoted)], until: deadline)
        return found.text(0, 0) != nil
    }

    var tableRight: String {
        let rights = ["SELECT", "INSERT", "UPDATE", "DELETE"].map { right in
            "has_table_privilege('\(quoted)', '\(right)')"
        }
        return "SELECT (\(rights.joined(separator: " AND ")))::text"
    }

    static let schemaRight = "SELECT has_schema_privilege(current_schema(), 'CREATE')::text"

    /// Entries are compressed already, and each is written and deleted once.
    var creation: String {
        """
        DO $$ BEGIN
            CREATE TABLE \(quoted) (
                shard text NOT NULL, number bigint NOT NULL, body bytea NOT NULL,
                PRIMARY KEY (shard, number)
            ) WITH (
                autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
                toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 200000
            );
            ALTER TABLE \(quoted) ALTER COLUMN body SET STORAGE EXTERNAL;
        END $$
        """
    }

    /// The shard's row 0.
    var beginning: String {
        "INSERT INTO \(quoted) VALUES ($1, 0, int8send(0)) ON CONFLICT DO NOTHING"
    }

    // MARK: - Entries

    /// Inserts all parts or none. The fence is row 0: a rival waits for its lock, and looks at it again then.
    func insertion(
        _ parts: [[UInt8]],
        after last: UInt64,
        isSynced: Bool
    ) -> (String, [PostgreSQLSession.Value]) {
        let rows = parts.indices.map { "($2::bigint + \($0 + 1), $\($0 + 3)::bytea)" }
        let sql = """
            WITH synced AS MATERIALIZED (\(Self.synced(isSynced))),
            head AS (
                UPDATE \(quoted) SET body = int8send($2::bigint + \(parts.count))
                WHERE shard = $1 AND number = 0 AND body = int8send($2::bigint)
                    AND EXISTS (SELECT FROM synced)
                RETURNING 1
            )
            INSERT INTO \(quoted) (shard, number, body)
            SELECT $1, part.number, part.body
            FROM head, (VALUES \(rows.joined(separator: ", "))) AS part (number, body)
            """
        let values: [PostgreSQLSession.Value] = [.text(name), .number(Int64(clamping: last))]
        return (sql, values + parts.map { .bytes($0) })
    }

    /// The last number.
    var head: String {
        "SELECT ('x' || encode(body, 'hex'))::bit(64)::bigint FROM \(quoted) WHERE shard = $1 AND number = 0"
    }

    /// Rows in order, until those before have the bytes.
    var selection: String {
        """
        SELECT number, body FROM (
            SELECT number, body, octet_length(body) AS size,
                sum(octet_length(body)) OVER (ORDER BY number ROWS UNBOUNDED PRECEDING) AS total
            FROM (
                SELECT number, body FROM \(quoted) WHERE shard = $1 AND number >= greatest($2::bigint, 1)
                ORDER BY number LIMIT $4::bigint
            ) AS next
        ) AS summed WHERE total - size < $3::bigint ORDER BY number
        """
    }

    var deletion: String {
        """
        DELETE FROM \(quoted) WHERE shard = $1 AND number IN (
            SELECT number FROM \(quoted) WHERE shard = $1 AND number > 0 AND number < $2::bigint
            ORDER BY number LIMIT $3::bigint
        )
        """
    }

    var count: String { "SELECT count(*) FROM \(quoted) WHERE shard = $1 AND number > 0" }
}
