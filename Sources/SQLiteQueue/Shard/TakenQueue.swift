package import CommitLog
import Glibc
package import Queue
import SQLite
import System

/// A shard on its way into the local queue of a directory.
///
/// The shard is *ceded* to the move: its last transaction has the move's id. Whatever opens it
/// later delivers nothing of it. So the queue of the directory is the only one, also after a crash
/// at any point. The caller holds the directory's lock.
package struct TakenQueue {
    private static let patience = Duration.seconds(30)
    private static let moveIDName = "taken_by"
    /// No shard has such a name.
    private static let moveIDPrefix = "local "

    private let directory: DataDirectory
    private let scratch: DataDirectory
    private let shard: String
    private let moveID: String

    /// Tells a move from others.
    package static func newMoveID() -> String { moveIDPrefix + hex(randomBytes(8)) }

    /// True if a shard that was ceded to this is on its way into a local queue.
    package static func isMove(_ target: String) -> Bool { target.hasPrefix(moveIDPrefix) }

    /// Removes a move's id from a copy of the shard, so that a gateway can use it as its queue.
    static func forgetMove(_ connection: Connection) throws(SQLiteError) {
        try connection.execute(
            """
            DELETE FROM settings WHERE name = '\(AbsorptionBook.cededName)'
                AND CAST(value AS TEXT) LIKE '\(moveIDPrefix)%'
            """
        )
    }

    package init(of shard: String, in directory: String, moveID: String) {
        self.directory = DataDirectory(path: directory)
        scratch = DataDirectory(path: "\(directory)/shards/\(shard)", isScratch: true)
        self.shard = shard
        self.moveID = moveID
    }

    /// True if the directory has the whole queue of this move. Throws if it has another one.
    package func isThere() throws(QueueError) -> Bool {
        guard fileSize(directory.database) ?? 0 > 0 else { return false }
        let found = try withSQLiteErrors(of: directory.database) { () throws(SQLiteError) in
            try SettingTable.text(Self.moveIDName, in: Connection(directory.database, .readOnly))
        }
        guard found == moveID else {
            throw QueueError(
                .directory,
                "\(directory.database) is there already; name a directory without a queue."
            )
        }
        return true
    }

    // MARK: - Taking the shard

    /// Reads the log, and cedes the shard to this move unless that was done before. `isEnding` is
    /// called before the entry that cedes it. `hasLog` tells if another shard has a log.
    package func take(
        from log: any CommitLog,
        hasLog: (String) -> Bool,
        progress: @escaping @Sendable (RestoreCommand.Progress) -> Void = { _ in },
        isEnding: () throws(QueueError) -> Void
    ) throws(QueueError) {
        let log = ReportingLog(log, canAppend: true, progress)
        let lock = try DirectoryLock(scratch.path)
        defer { withExtendedLifetime(lock) {} }
        var configuration = QueueConfiguration(directory: scratch.path)
        configuration.commitLog = log
        configuration.commitRetries.timeout = Self.patience
        let shardLog = ShardLog(log, configuration)
        try run { () throws(SQLiteError) in try shardLog.read(scratch) }
        guard shardLog.restored != nil else {
            throw QueueError(
                .refused,
                "the log of the shard \(shard) (\(log.name)) has no whole copy of a database; start a gateway of "
                    + "the cluster, or see: sluice shards."
            )
        }
        guard try !isCeded(hasLog) else { return }
        try run { () throws(SQLiteError) in try shardLog.prepare(scratch, configuration) }
        // Its owner may have written until now.
        guard try !isCeded(hasLog) else { return }
        try isEnding()
        try run { () throws(SQLiteError) in
            let (connection, _) = try QueueDatabase.connect(scratch.database, configuration)
            let database = try QueueDatabase(connection, path: scratch.database, log: shardLog)
            try database.write()
            try database.settings.save(Array(moveID.utf8), as: AbsorptionBook.cededName)
            try database.commit()
        }
    }

    /// True if the shard is ceded to this move. Throws if it belongs to other shards.
    private func isCeded(_ hasLog: (String) -> Bool) throws(QueueError) -> Bool {
        let (cededTo, absorbed) = try run { () throws(SQLiteError) in
            let connection = try Connection(scratch.database, .readOnly)
            let absorbed = try SettingTable.values(AbsorptionBook.prefix, in: connection)
            return (
                try SettingTable.text(AbsorptionBook.cededName, in: connection),
                absorbed.map(\.name)
            )
        }
        if let cededTo {
            guard cededTo != moveID else { return true }
            if cededTo.hasPrefix(Self.moveIDPrefix) {
                throw QueueError(
                    .refused,
                    "the shard \(shard) is being moved to another directory, and must be finished there; if that is "
                        + "lost, sluice restore \(shard) FILE writes a file that can be the queue.db of a gateway."
                )
            }
            throw QueueError(
                .refused,
                "the shard \(shard) is a part of \(cededTo) now, which has absorbed it or is about to; move that one, "
                    + "or start a gateway of the cluster to finish it."
            )
        }
        guard let other = absorbed.first(where: hasLog) else { return false }
        throw QueueError(
            .refused,
            "the shard \(shard) absorbs the shard \(other); start a gateway of the cluster until that is done."
        )
    }

    // MARK: - The local queue

    /// Writes the local queue durably from what `take` has read.
    package func write() throws(QueueError) -> InspectionReport {
        let copy = DatabaseCopy(to: directory.database)
        copy.discard()
        try run { () throws(SQLiteError) in
            let connection = try Connection(scratch.database, .readWrite)
            try connection.finish()
            try copy.checkRoom(for: connection)
            try copy.write(connection)
            try enter(copy.draft)
            try copy.syncDraft()
        }
        let report = try Inspection.look(at: copy.draft)
        if let finding = report.findings.first {
            throw QueueError(
                .corrupt,
                "\(copy.draft), the queue of the shard \(shard), is damaged: \(finding.text); it stays in the cluster."
            )
        }
        try run { () throws(SQLiteError) in try copy.publishIfAbsent() }
        return report
    }

    /// Makes a shard's database that of a local queue.
    private func enter(_ path: String) throws(SQLiteError) {
        let (connection, _) = try QueueDatabase.connect(
            path,
            QueueConfiguration(directory: directory.path)
        )
        let database = try QueueDatabase(connection, path: path)
        try database.write()
        try database.settings.remove(AbsorptionBook.cededName)
        for (name, _) in try SettingTable.values(AbsorptionBook.prefix, in: connection) {
            try database.settings.remove(AbsorptionBook.prefix + name)
        }
        try database.settings.save(Array(moveID.utf8), as: Self.moveIDName)
        try database.commit()
        try connection.finish()
    }

    private func run<Value>(
        _ body: () throws(SQLiteError) -> Value
    ) throws(QueueError) -> Value {
        try withSQLiteErrors(of: scratch.database, body)
    }
}
