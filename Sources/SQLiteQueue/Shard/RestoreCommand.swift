package import CommitLog
import Glibc
package import Queue
import SQLite
import System

/// `sluice restore`: reads a shard's commit log to its end and writes its database into a file. It
/// only reads the log, so the owner of the shard goes on meanwhile.
package struct RestoreCommand {
    package struct Progress: Sendable {
        package var entry: UInt64 = 0
        package var bytes = 0
    }

    package struct Outcome: Sendable {
        package let report: InspectionReport
        /// The last entry of the log whose commit the file has.
        package let lastEntry: UInt64
        /// What is wrong with the log behind it; nil: the file has all of it.
        package let damage: String?
    }

    /// An owner that trims the log may do it while that part is read.
    private static let attemptsMax = 3

    private let log: ReportingLog
    private let shard: String
    private let path: String

    /// `log` need not be opened: nothing is appended.
    package init(
        _ log: any CommitLog,
        of shard: String,
        to path: String,
        progress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) {
        self.log = ReportingLog(log, canAppend: false, progress)
        self.shard = shard
        self.path = path
    }

    /// With `acceptsPartial` the file gets the commits before the first damage, which else is an
    /// error.
    package func run(acceptsPartial: Bool = false) throws(QueueError) -> Outcome {
        guard access(path, F_OK) != 0 else {
            throw QueueError(.directory, "\(path) is there already; name a file that is not.")
        }
        let directory = DataDirectory(path: path + ".restoring", isScratch: true)
        let lock = try DirectoryLock(directory.path)
        defer { withExtendedLifetime(lock) { StoredLogs.removeScratch(in: directory.path) } }
        let (position, damage) = try read(directory, acceptsPartial: acceptsPartial)
        let report = try publish(directory, acceptsPartial: acceptsPartial)
        return Outcome(report: report, lastEntry: position.entry, damage: damage)
    }

    private func read(
        _ directory: DataDirectory,
        acceptsPartial: Bool
    ) throws(QueueError) -> (LogPosition, damage: String?) {
        var attempt = 1
        while true {
            let reading = ShardLog(log, QueueConfiguration(directory: directory.path))
            var damage: SQLiteError?
            do throws(SQLiteError) {
                try reading.read(directory)
            } catch {
                guard error.isOfCommitLog, error.kind == .corrupt else {
                    throw QueueError(error, path: directory.database)
                }
                damage = error
            }
            if damage != nil, attempt < Self.attemptsMax, wasTrimmed() {
                attempt += 1
                continue
            }
            if let damage, !acceptsPartial || reading.restored == nil {
                throw problem(damage, reading.restored)
            }
            guard let position = reading.restored else {
                throw QueueError(
                    .refused,
                    "the log of the shard \(shard) (\(log.name)) has no whole copy of a database yet, so there is "
                        + "nothing to restore; try again when its gateway is ready."
                )
            }
            return (position, damage?.description)
        }
    }

    /// True if the log begins behind the entry that was asked for last.
    private func wasTrimmed() -> Bool {
        guard let first = try? log.read(from: 1, atMost: bytesOfOneEntry).first else {
            return false
        }
        return first.number > log.lastRequest
    }

    private func problem(_ damage: SQLiteError, _ whole: LogPosition?) -> QueueError {
        let remedy =
            whole.map { whole in
                "the commits up to entry \(whole.entry) are whole: sluice restore --partial keeps them, or restore the "
                    + "log from a backup of its servers."
            } ?? "no commit before it can be kept; restore the log from a backup of its servers."
        return QueueError(
            .corrupt,
            "the log of the shard \(shard) (\(log.name)) is damaged: \(damage); \(remedy)"
        )
    }

    /// Checks the database and gives it its name.
    private func publish(
        _ directory: DataDirectory,
        acceptsPartial: Bool
    ) throws(QueueError) -> InspectionReport {
        let copy = DatabaseCopy(to: path, draft: directory.database)
        do throws(SQLiteError) {
            let connection = try Connection(directory.database, .readWrite)
            try TakenQueue.forgetMove(connection)
            // The file must be whole without its WAL.
            try connection.finish()
            try copy.syncDraft()
        } catch {
            throw QueueError(error, path: directory.database)
        }
        let report = try Inspection.look(at: directory.database)
        if let finding = report.findings.first, !acceptsPartial {
            throw QueueError(
                .corrupt,
                "the shard \(shard) is restored, but its database is damaged: \(finding.text); "
                    + "sluice restore --partial writes it all the same."
            )
        }
        do throws(SQLiteError) {
            try copy.publishIfAbsent()
        } catch {
            throw QueueError(.directory, "\(path) cannot get its name: \(error).")
        }
        return report
    }
}

/// A log that tells how far it was read.
final class ReportingLog: CommitLog {
    private let log: any CommitLog
    private let canAppend: Bool
    private let progress: @Sendable (RestoreCommand.Progress) -> Void
    private let state = Locked((read: RestoreCommand.Progress(), request: UInt64(0)))

    init(
        _ log: any CommitLog,
        canAppend: Bool,
        _ progress: @escaping @Sendable (RestoreCommand.Progress) -> Void
    ) {
        self.log = log
        self.canAppend = canAppend
        self.progress = progress
    }

    var name: String { log.name }
    var lastRequest: UInt64 { state.withLock(\.request) }

    func append(
        _ parts: [[UInt8]],
        after last: UInt64,
        id: AppendID,
        until deadline: Moment
    ) -> AppendAnswer {
        canAppend
            ? log.append(parts, after: last, id: id, until: deadline)
            : .refused("this log is only read")
    }

    func read(from number: UInt64, atMost bytes: Int) throws(CommitLogError) -> [NumberedEntry] {
        // Single entries only tell where the log begins.
        if bytes > bytesOfOneEntry { state.withLock { $0.request = number } }
        let entries = try log.read(from: number, atMost: bytes)
        guard let last = entries.last, bytes > bytesOfOneEntry else { return entries }
        let read = state.withLock { state in
            state.read.entry = last.number
            state.read.bytes += entries.reduce(0) { $0 + $1.bytes.count }
            return state.read
        }
        progress(read)
        return entries
    }

    func trim(before number: UInt64) throws(CommitLogError) -> Bool {
        guard canAppend else { throw .refused("this log is only read") }
        return try log.trim(before: number)
    }
}
