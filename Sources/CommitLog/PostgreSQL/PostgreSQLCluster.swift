package import System

/// The logs and registers of a cluster in PostgreSQL. A gateway keeps five connections: for its
/// home shard's appends, for lists, for registers, which must not wait for a standby, for the
/// control log and messages, and one that listens.
package final class PostgreSQLCluster: ClusterEngine {
    private static let timeout = Duration.seconds(2)
    /// How long a removal goes on to delete rows.
    private static let removalTime = Duration.seconds(6)

    private let settings: PostgreSQLSettings
    private let queueBytes: Int
    private let isSynced: Bool
    private let journal: Journal
    private let logs: LogTable
    private let registerTable: RegisterTable
    private let choice: ServerChoice
    private let link: Locked<PostgreSQLLink>
    private let registerLink: Locked<PostgreSQLLink>
    private let talkLink: Locked<PostgreSQLLink>
    /// A removal takes seconds.
    private let removalLink: Locked<PostgreSQLLink>

    /// `queueBytes` is what a queue keeps at most. `isSynced` demands that a commit is on the disks
    /// of the server and of a copy before it is confirmed.
    package init(
        _ settings: PostgreSQLSettings,
        queueBytes: Int,
        isSynced: Bool,
        journal: Journal
    ) {
        self.settings = settings
        self.queueBytes = queueBytes
        self.isSynced = isSynced
        self.journal = journal
        logs = LogTable(of: settings.cluster)
        registerTable = RegisterTable(of: settings.cluster)
        choice = ServerChoice(settings, journal)
        link = Locked(PostgreSQLLink(settings, isSynced: isSynced, choice, journal))
        registerLink = Locked(PostgreSQLLink(settings, isSynced: isSynced, choice, journal))
        talkLink = Locked(PostgreSQLLink(settings, isSynced: isSynced, choice, journal))
        removalLink = Locked(PostgreSQLLink(settings, isSynced: isSynced, choice, journal))
    }

    package var durability: LogDurability {
        LogDurability(copies: settings.copies == .standby ? 2 : 1, isSynced: isSynced)
    }

    package func open() throws(CommitLogError) {
        try link.withLock { link throws(CommitLogError) in
            let deadline = Moment.now + Self.timeout * 2
            try logs.table.make(&link, deadline)
            try registerTable.table.make(&link, deadline)
            // A gateway may have died in a removal. What is left takes room, and does no other
            // harm.
            try? deleteRemoved(&link, until: .now + Self.timeout)
        }
    }

    // MARK: - Shards

    package func shards() throws(CommitLogError) -> [ListedShard] {
        try link.withLock { link throws(CommitLogError) in
            let rows = try link.run(logs.selectEnds, [], until: .now + Self.timeout * 2)
            var shards: [ListedShard] = []
            for row in 0..<rows.rowCount {
                guard let name = rows.text(row, 0), let last = rows.number(row, 1), last >= 0
                else {
                    throw .damaged("the table \(logs.table.name) has another form")
                }
                guard name != Self.controlName else { continue }
                shards.append(ListedShard(name: name, last: UInt64(last)))
            }
            return shards
        }
    }

    /// No shard has this name.
    private static let controlName = "control"

    package var control: any EngineLog { log(of: Self.controlName, reader: talkLink) }

    package func log(of shard: String) -> any EngineLog { log(of: shard, reader: nil) }

    private func log(of shard: String, reader: Locked<PostgreSQLLink>?) -> any EngineLog {
        PostgreSQLLog(
            settings,
            of: shard,
            bytesMax: commitLogBytesMax(forQueueOf: queueBytes),
            isSynced: isSynced,
            choice: choice,
            reader: reader,
            journal: journal
        )
    }

    /// First marks the shard as removed, and waits for the standby. From then on it is no shard,
    /// even after a failover: appends are fenced, and it is not listed. Its rows go afterwards, and
    /// its mark last, in steps that any later removal or start takes up. Rows without a mark are
    /// never deleted, so a damaged log stays as it is.
    package func remove(_ shard: String) throws(CommitLogError) {
        try removalLink.withLock { link throws(CommitLogError) in
            defer { link.closeIfIdle() }
            let deadline = Moment.now + Self.timeout * 2
            _ = try link.run(logs.markRemoved, [.text(shard)], until: deadline)
            try link.confirm(until: deadline)
            try deleteRemoved(&link, until: .now + Self.removalTime)
        }
    }

    /// Deletes rows of shards that are marked as removed until there are none or the time is over.
    private func deleteRemoved(
        _ link: inout PostgreSQLLink,
        until end: Moment
    ) throws(CommitLogError) {
        let marked = try link.run(logs.selectRemoved, [], until: end)
        for shard in (0..<marked.rowCount).compactMap({ marked.text($0, 0) }) {
            var isEmpty = false
            while !isEmpty {
                guard Moment.now < end else { return }
                let values: [PostgreSQLSession.Value] = [
                    .text(shard), .number(LogTable.rowsDeleted),
                ]
                let deleted = try link.run(logs.deleteRows, values, until: .now + Self.timeout)
                isEmpty = deleted.changedCount < Int(LogTable.rowsDeleted)
            }
            _ = try link.run(logs.deleteHead, [.text(shard)], until: .now + Self.timeout)
        }
    }

    // MARK: - Registers

    package func registers() throws(CommitLogError) -> [String: Register] {
        try registerLink.withLock { link throws(CommitLogError) in
            let rows = try link.run(registerTable.selection, [], until: .now + Self.timeout)
            var registers: [String: Register] = [:]
            for row in 0..<rows.rowCount {
                guard let name = rows.text(row, 0), let value = rows.bytes(row, 1),
                    let revision = rows.number(row, 2), revision >= 0
                else {
                    throw .damaged("the table \(registerTable.table.name) has another form")
                }
                registers[name] = Register(value: value, revision: UInt64(revision))
            }
            return registers
        }
    }

    package func confirm() throws(CommitLogError) {
        try link.withLock { link throws(CommitLogError) in
            try link.confirm(until: .now + Self.timeout)
        }
    }

    package func set(_ register: String, to value: [UInt8]?) throws(CommitLogError) {
        try Register.check(register, value)
        try registerLink.withLock { link throws(CommitLogError) in
            let deadline = Moment.now + Self.timeout
            if let value {
                let values: [PostgreSQLSession.Value] = [.text(register), .bytes(value)]
                _ = try link.run(registerTable.setting, values, until: deadline)
            } else {
                _ = try link.run(registerTable.removal, [.text(register)], until: deadline)
            }
        }
    }

    package func messenger(
        for node: String,
        _ journal: Journal
    ) throws(CommitLogError) -> any ClusterMessenger {
        try PostgreSQLMessenger(settings, node, choice: choice, sending: talkLink, journal)
    }

    /// libpq skips servers that are read-only, but not a former primary that lives on: its commits
    /// wait for ever.
    package func changeServer() {
        guard let current = link.withLock({ $0.server }) ?? choice.order.first else { return }
        choice.chooseAnother(than: current, isSynced: isSynced)
    }

    // MARK: - For the operator

    package func check() throws(CommitLogError) -> String {
        try link.withLock { link throws(CommitLogError) in
            let deadline = Moment.now + Self.timeout * 2
            let server = try link.description(until: deadline)
            var missing: [String] = []
            for table in [logs.table, registerTable.table] {
                if try !table.check(&link, deadline) { missing.append(table.name) }
            }
            try link.confirm(until: deadline)
            var text = server
            if !missing.contains(logs.table.name) {
                let rows = try link.run(logs.selectEnds, [], until: deadline)
                let shards = (0..<rows.rowCount).count { rows.text($0, 0) != Self.controlName }
                text += "; the cluster \(settings.cluster) has \(counted(shards, "shard"))"
            }
            for name in missing { text += "; the table \(name) is made at the first start" }
            return text
        }
    }
}
