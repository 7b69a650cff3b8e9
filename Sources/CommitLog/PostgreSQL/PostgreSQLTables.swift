import System

/// The table of a cluster's logs, and statements on it; `$1` is the shard. Row 0 has the last
/// number in its body, or nothing while the rows of a removed shard are deleted.
struct LogTable: Sendable {
    let table: PostgreSQLTable

    /// Rows that one statement deletes: as many as a server deletes in a moment.
    static let rowsDeleted: Int64 = 128
    /// Shards that a gateway takes note of.
    private static let shardsMax = 10_000

    /// Entries are compressed already, and each is written and deleted once.
    init(of cluster: String) {
        let name = "sluice_\(cluster)_log"
        table = PostgreSQLTable(
            name: name,
            definition: """
                (
                    shard text NOT NULL, number bigint NOT NULL, body bytea NOT NULL,
                    PRIMARY KEY (shard, number)
                ) WITH (
                    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
                    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 200000
                )
                """,
            addition: "ALTER TABLE \"\(name)\" ALTER COLUMN body SET STORAGE EXTERNAL;"
        )
    }

    private var quoted: String { table.quoted }

    // MARK: - Durability

    /// Waits for the standby in any session: a pooler may give each transaction another one.
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

    // MARK: - Shards

    /// The shard's row 0.
    var insertHead: String {
        "INSERT INTO \(quoted) VALUES ($1, 0, int8send(0)) ON CONFLICT DO NOTHING"
    }

    /// The last number; NULL: the shard is removed. No row: there is no such shard.
    var selectHead: String {
        "SELECT \(Self.last) FROM \(quoted) AS head WHERE shard = $1 AND number = 0"
    }

    private static let last =
        "CASE WHEN octet_length(head.body) = 8 THEN ('x' || encode(head.body, 'hex'))::bit(64)::bigint END"

    var selectEnds: String {
        "\(heads(", \(Self.last)")) WHERE octet_length(head.body) = 8 LIMIT \(Self.shardsMax)"
    }

    /// Shards that are removed, but not all of their rows.
    var selectRemoved: String {
        "\(heads()) WHERE octet_length(head.body) = 0 LIMIT \(Self.shardsMax)"
    }

    /// Goes from one shard to the next in the key, and so reads no entries.
    private func heads(_ columns: String = "") -> String {
        """
        WITH RECURSIVE found (shard) AS (
            (SELECT shard FROM \(quoted) ORDER BY shard LIMIT 1)
            UNION ALL
            SELECT (
                SELECT next.shard FROM \(quoted) AS next WHERE next.shard > found.shard
                ORDER BY next.shard LIMIT 1
            ) FROM found WHERE found.shard IS NOT NULL
        )
        SELECT head.shard\(columns)
        FROM found JOIN \(quoted) AS head ON head.shard = found.shard AND head.number = 0
        """
    }

    var markRemoved: String { "UPDATE \(quoted) SET body = '' WHERE shard = $1 AND number = 0" }

    /// Deletes `$2` rows of a removed shard. They follow the mark in the WAL: no wait.
    var deleteRows: String {
        """
        WITH unsynced AS MATERIALIZED (\(PostgreSQLTable.unsynced))
        \(deletion("AND EXISTS (SELECT FROM unsynced)", limit: "$2"))
        """
    }

    /// Ends the removal, after the other rows.
    var deleteHead: String {
        """
        WITH unsynced AS MATERIALIZED (\(PostgreSQLTable.unsynced))
        DELETE FROM \(quoted) WHERE shard = $1 AND number = 0 AND octet_length(body) = 0
            AND EXISTS (SELECT FROM unsynced)
        """
    }

    // MARK: - Entries

    /// Inserts all parts or none. The fence: a rival waits for row 0's lock, then looks again.
    func insertEntries(
        _ parts: [[UInt8]],
        of shard: String,
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
        let values: [PostgreSQLSession.Value] = [.text(shard), .number(Int64(clamping: last))]
        return (sql, values + parts.map { .bytes($0) })
    }

    /// Entries from `$2` on, in order: at least one, until they have `$3` bytes, and `$4` at most.
    var selectEntries: String {
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

    /// Deletes `$3` entries before the number `$2` at most.
    var deleteEntries: String { deletion("AND number < $2::bigint", limit: "$3") }

    private func deletion(_ condition: String, limit: String) -> String {
        """
        DELETE FROM \(quoted) WHERE shard = $1 AND number IN (
            SELECT number FROM \(quoted) WHERE shard = $1 AND number > 0 \(condition)
            ORDER BY number LIMIT \(limit)::bigint
        )
        """
    }
}

/// A table of a cluster, which the first gateway makes.
struct PostgreSQLTable: Sendable {
    let name: String
    /// Its columns and options, as `CREATE TABLE` takes them.
    let definition: String
    /// A further statement when it is made, or nothing.
    var addition = ""

    /// A cluster's name has letters, digits, `-` and `_`.
    var quoted: String { "\"\(name)\"" }

    func isThere(_ link: inout PostgreSQLLink, _ deadline: Moment) throws(CommitLogError) -> Bool {
        let found = try link.run("SELECT to_regclass($1)::text", [.text(quoted)], until: deadline)
        return found.text(0, 0) != nil
    }

    /// Makes it unless it is there.
    func make(_ link: inout PostgreSQLLink, _ deadline: Moment) throws(CommitLogError) {
        guard try !isThere(&link, deadline) else { return }
        let sql = "DO $$ BEGIN CREATE TABLE \(quoted) \(definition); \(addition) END $$"
        do throws(CommitLogError) {
            _ = try link.run(sql, [], until: deadline)
        } catch {
            // Another gateway may have made it at the same moment.
            guard try isThere(&link, deadline) else { throw error }
        }
    }

    /// Checks that the user may use it, or may make it. Returns true if it is there.
    func check(_ link: inout PostgreSQLLink, _ deadline: Moment) throws(CommitLogError) -> Bool {
        let isThere = try isThere(&link, deadline)
        guard
            try link.run(isThere ? right : Self.schemaRight, [], until: deadline).text(0, 0)
                == "true"
        else {
            throw .refused(
                isThere
                    ? "the user may not change the table \(name); grant all on it"
                    : "the user may not make the table \(name); grant CREATE on the schema"
            )
        }
        return isThere
    }

    private var right: String {
        let rights = ["SELECT", "INSERT", "UPDATE", "DELETE"].map { right in
            "has_table_privilege('\(quoted)', '\(right)')"
        }
        return "SELECT (\(rights.joined(separator: " AND ")))::text"
    }

    private static let schemaRight = "SELECT has_schema_privilege(current_schema(), 'CREATE')::text"

    /// Waits for nothing, in any session: what the transaction does may be lost in a failover.
    static let unsynced = "SELECT set_config('synchronous_commit', 'off', true)"
}

/// The table of a cluster's registers. They are hints, so their transactions wait for no disk and
/// no standby: a gateway must be seen alive also while the standby is away.
struct RegisterTable: Sendable {
    let table: PostgreSQLTable

    /// Rows that one answer has at most.
    static let rowsMax = 10_000

    /// Few rows, written all the time: half of each page stays free for their next versions.
    init(of cluster: String) {
        table = PostgreSQLTable(
            name: "sluice_\(cluster)_register",
            definition: """
                (name text PRIMARY KEY, value bytea NOT NULL, revision bigint NOT NULL) WITH (
                    fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500
                )
                """
        )
    }

    /// The transaction's number is the revision. A sequence would need a right of its own.
    var setting: String {
        """
        WITH unsynced AS MATERIALIZED (\(PostgreSQLTable.unsynced))
        INSERT INTO \(table.quoted) (name, value, revision)
        SELECT $1::text, $2::bytea, txid_current() FROM unsynced
        ON CONFLICT (name) DO UPDATE SET value = excluded.value, revision = excluded.revision
        """
    }

    var removal: String {
        """
        WITH unsynced AS MATERIALIZED (\(PostgreSQLTable.unsynced))
        DELETE FROM \(table.quoted) WHERE name = $1 AND EXISTS (SELECT FROM unsynced)
        """
    }

    /// What matters most comes first: what is set once, the gateways that told something last, and
    /// marks of shards that are gone. So each gateway that lives is there, however many registers a
    /// crash loop leaves.
    var selection: String {
        """
        SELECT name, value, revision FROM \(table.quoted)
        ORDER BY name LIKE 'gone.%', name LIKE 'node.%', revision DESC LIMIT \(Self.rowsMax)
        """
    }
}
