/// The table of a cluster's registers. They are hints, so their transactions wait for no disk and
/// no standby: a gateway must be seen alive also while the standby is away.
struct RegisterTable: Sendable {
    let table: PostgreSQLTable

    /// Rows that one answer has at most.
    static let rowsMax: Int64 = 10_000

    /// The few rows are written all the time. Half of each page is left free for their next
    /// versions.
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

    var selection: String {
        "SELECT name, value, revision FROM \(table.quoted) LIMIT \(Self.rowsMax)"
    }
}
