import SQLite

/// The tables as a list of migrations. A released migration never changes; a change is one more.
enum QueueSchema {
    static let migrations = [
        """
        PRAGMA application_id = \(applicationID);

        -- The checksum covers what a stream's logs take from it: a flipped bit would change their tags or their
        -- logstore.
        CREATE TABLE streams (
            id INTEGER PRIMARY KEY,
            destination TEXT NOT NULL,
            logstore TEXT NOT NULL,
            trailer BLOB NOT NULL,
            pack_prefix TEXT NOT NULL,
            next_pack INTEGER NOT NULL,
            checksum INTEGER
        );

        -- Consecutive batches of one stream as one lz4 block. The payload comes behind the columns that are read
        -- without it, so that they never lie on its overflow pages. `replays` is how often the logs were replayed as
        -- dead letters. SQLite stores 0 and 1 without a byte of content.
        CREATE TABLE rows (
            id INTEGER PRIMARY KEY,
            stream INTEGER NOT NULL,
            logs INTEGER NOT NULL,
            raw INTEGER NOT NULL,
            size INTEGER NOT NULL,
            received INTEGER NOT NULL,
            checksum INTEGER NOT NULL,
            payload BLOB NOT NULL,
            replays INTEGER NOT NULL DEFAULT 0
        );

        -- Everything about rows but their payload: sealing and start-up read this and nothing else.
        CREATE INDEX rows_by_stream ON rows (stream, id, logs, raw, size, received);

        -- Sealed packets. Those of a stream are consecutive, so its rows behind the last one are those that wait.
        -- For delivery exactly once: the hash key under which the packet is sent, 16 bytes, and its number there.
        -- NULL where packets go without.
        CREATE TABLE packets (
            number INTEGER PRIMARY KEY,
            stream INTEGER NOT NULL,
            first_row INTEGER NOT NULL,
            last_row INTEGER NOT NULL,
            logs INTEGER NOT NULL,
            raw INTEGER NOT NULL,
            oldest INTEGER NOT NULL,
            pack INTEGER NOT NULL,
            lane_key BLOB,
            lane_sequence INTEGER
        );

        -- `skipped` are logs of batches that a destination could do without and had no room for.
        CREATE TABLE ledger (
            destination TEXT PRIMARY KEY,
            accepted INTEGER NOT NULL,
            delivered INTEGER NOT NULL,
            queued INTEGER NOT NULL,
            dead INTEGER NOT NULL,
            expired INTEGER NOT NULL,
            discarded INTEGER NOT NULL,
            skipped INTEGER NOT NULL DEFAULT 0
        ) WITHOUT ROWID;

        CREATE TABLE settings (
            name TEXT PRIMARY KEY,
            value BLOB NOT NULL
        ) WITHOUT ROWID;

        -- Requests that are remembered, in the order in which they were stored.
        CREATE TABLE repeats (
            number INTEGER PRIMARY KEY,
            digest BLOB NOT NULL,
            received INTEGER NOT NULL,
            logs INTEGER NOT NULL,
            receipt BLOB NOT NULL
        );

        -- Logs that cannot be delivered as they are, one a row: an entry as it would be sent, lz4 when it has
        -- less than `raw` bytes. Where there is no status or request id they are 0 and ''.
        CREATE TABLE dead (
            id INTEGER PRIMARY KEY,
            destination TEXT NOT NULL,
            logstore TEXT NOT NULL,
            trailer BLOB NOT NULL,
            received INTEGER NOT NULL,
            died INTEGER NOT NULL,
            status INTEGER NOT NULL,
            code TEXT NOT NULL,
            message TEXT NOT NULL,
            request_id TEXT NOT NULL,
            raw INTEGER NOT NULL,
            cost INTEGER NOT NULL,
            checksum INTEGER NOT NULL,
            payload BLOB NOT NULL,
            replays INTEGER NOT NULL DEFAULT 0
        );

        -- For lists, for sums without reading a letter, and for age.
        CREATE INDEX dead_by_destination ON dead (destination, id, logstore, code);
        CREATE INDEX dead_by_reason ON dead (destination, code, cost, died);
        CREATE INDEX dead_by_age ON dead (died);

        -- What operators decided while the gateway ran, and who decided what.
        CREATE TABLE decisions (
            name TEXT PRIMARY KEY,
            value BLOB NOT NULL
        ) WITHOUT ROWID;

        CREATE TABLE audit (
            id INTEGER PRIMARY KEY,
            time INTEGER NOT NULL,
            actor TEXT NOT NULL,
            address TEXT NOT NULL,
            action TEXT NOT NULL,
            subject TEXT NOT NULL,
            before TEXT NOT NULL,
            after TEXT NOT NULL
        );

        -- What became of the logs of requests, in one row.
        CREATE TABLE intake (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            received INTEGER NOT NULL,
            filtered INTEGER NOT NULL,
            dropped INTEGER NOT NULL,
            routed INTEGER NOT NULL,
            copies INTEGER NOT NULL
        );
        INSERT INTO intake VALUES (1, 0, 0, 0, 0, 0)
        """
    ]

    /// "SLUC". It lets `file` and the gateway recognise the database.
    static let applicationID = 0x534C_5543

    /// Migrates a database of version `found`. One transaction runs all steps, so a crash leaves
    /// either this version or the one before, of which there is a copy.
    static func migrate(
        _ connection: Connection,
        from found: Int,
        _ steps: [String] = migrations
    ) throws(SQLiteError) {
        guard found < steps.count else { return }
        let missing = steps[found...].joined(separator: ";\n")
        // If a statement fails, the transaction ends with the connection.
        try connection.execute("BEGIN IMMEDIATE; \(missing)")
        try connection.execute("PRAGMA user_version = \(steps.count); COMMIT")
    }

    /// The version of a queue's database. Throws if it is none, or of a newer version.
    static func version(of connection: Connection) throws(SQLiteError) -> Int {
        let version = Int(try connection.integer("PRAGMA user_version"))
        guard version <= migrations.count else {
            throw .newerSchema(version, known: migrations.count)
        }
        guard try connection.integer("PRAGMA application_id") == applicationID, version > 0 else {
            throw .damage("the file is not a Sluice queue")
        }
        return version
    }

    /// Throws if a column of this version is missing or has changed: SQLite's error would not look
    /// like damage, or a text would be stored as a number.
    static func expectColumns(
        of version: Int,
        _ steps: [String] = migrations,
        in connection: Connection
    ) throws(SQLiteError) {
        let sound = try Connection(":memory:", .readWrite)
        try migrate(sound, from: 0, Array(steps[..<version]))
        guard try columns(of: sound).isSubset(of: columns(of: connection)) else {
            throw .damage("its tables are not those of version \(version)")
        }
    }

    /// Table, name, type and rules of each column.
    private static func columns(of connection: Connection) throws(SQLiteError) -> Set<String> {
        let all = try connection.prepare(
            """
            SELECT t.name || '.' || c.name || ' ' || c.cid || ' ' || c.type || ' ' || c."notnull"
                || ' ' || c.pk || ' ' || coalesce(c.dflt_value, '')
            FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'
            """
        )
        defer { all.reset() }
        var columns: Set<String> = []
        while try all.step() { columns.insert(all.text(0)) }
        return columns
    }
}
