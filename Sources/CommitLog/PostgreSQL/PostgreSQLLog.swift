package import System

/// A shard's commit log in PostgreSQL, a row for each entry. The fence is row 0 of the shard, which
/// has the last number. Appends that wait for a standby must not hold up a reader: two connections.
/// A shard's log closes its reader when nothing is left to read. The log that is followed closes
/// its writer after each append.
package final class PostgreSQLLog: EngineLog {
    private static let timeout = Duration.seconds(2)
    /// Rows that one statement returns at most.
    private static let rowsMax: Int64 = 1024

    private let logs: LogTable
    private let shard: String
    /// The server does not demand it, but a log that is not trimmed must not fill its disk.
    package let bytesMax: Int?
    private let isSynced: Bool
    private let writer: Locked<PostgreSQLLink>
    private let reader: Locked<PostgreSQLLink>
    /// It is read all the time, and seldom written.
    private let isFollowed: Bool

    /// `isSynced`: a commit is on the disks of the server and of a copy before it is confirmed.
    /// `reader` is a connection that is kept, of a log that is followed.
    init(
        _ settings: PostgreSQLSettings,
        of shard: String,
        bytesMax: Int,
        isSynced: Bool,
        choice: ServerChoice? = nil,
        reader: Locked<PostgreSQLLink>? = nil,
        journal: Journal
    ) {
        logs = LogTable(of: settings.cluster)
        self.shard = shard
        self.bytesMax = bytesMax
        self.isSynced = isSynced
        let choice = choice ?? ServerChoice(settings, journal)
        writer = Locked(PostgreSQLLink(settings, isSynced: isSynced, choice, journal))
        isFollowed = reader != nil
        self.reader =
            reader ?? Locked(PostgreSQLLink(settings, isSynced: isSynced, choice, journal))
    }

    package func open(makes: Bool) throws(CommitLogError) {
        try reader.withLock { link throws(CommitLogError) in
            let deadline = Moment.now + Self.timeout * 2
            if makes { _ = try link.run(logs.insertHead, [.text(shard)], until: deadline) }
            guard try last(&link, deadline) == nil else { return }
            throw CommitLogError(
                makes ? .refused : .missing,
                "the table \(logs.table.name) has no log of the shard \(shard)"
                    + (makes ? ", which is being removed; its name cannot be used again" : "")
            )
        }
    }

    /// The last number; nil: there is no such log.
    private func last(
        _ link: inout PostgreSQLLink,
        _ deadline: Moment
    ) throws(CommitLogError) -> UInt64? {
        let found = try link.run(logs.selectHead, [.text(shard)], until: deadline)
        guard found.rowCount > 0, let last = found.number(0, 0) else { return nil }
        return UInt64(clamping: last)
    }

    // MARK: - Appending

    package func append(
        _ parts: [[UInt8]],
        after last: UInt64,
        id: AppendID,
        until deadline: Moment
    ) -> AppendAnswer {
        writer.withLock { link in
            defer { if isFollowed { link.closeIfIdle() } }
            do throws(CommitLogError) {
                let append = PostgreSQLLink.Append(id: id, last: last, parts: parts.count)
                guard
                    try link.begin(
                        append,
                        deadline,
                        { logs.insertEntries(parts, of: shard, after: last, isSynced: isSynced) }
                    )
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
            let outcome = link.outcome(until: deadline)
            // What is there must be as durable as if it had been appended by this call.
            let confirmation = max(deadline, .now + .milliseconds(500))
            do throws(CommitLogError) {
                switch outcome {
                case .done(parts.count):
                    guard try link.checkCopies(until: confirmation) else {
                        return .unknown(PostgreSQLLink.unconfirmed)
                    }
                    if parts.count > Self.partsLarge { link.closeIfIdle() }
                    return .appended(last + UInt64(parts.count))
                case .done, .taken:
                    try link.confirm(until: confirmation)
                    return .fenced
                case .noRoom(let text): return .noRoom(text)
                case .refused(let text): return .refused(text)
                case .unknown(let text): return .unknown(text)
                }
            } catch {
                return .unknown(error.description)
            }
        }
    }

    /// About 32 MiB.
    private static let partsLarge = 36

    // MARK: - Reading

    package func read(
        from number: UInt64,
        atMost bytes: Int
    ) throws(CommitLogError) -> [NumberedEntry] {
        try reader.withLock { link throws(CommitLogError) in
            let values: [PostgreSQLSession.Value] = [
                .text(shard), .number(Int64(clamping: number)), .number(Int64(bytes)),
                .number(Self.rowsMax),
            ]
            let deadline = Moment.now + Self.timeout * 4
            let rows = try link.run(logs.selectEntries, values, until: deadline)
            var entries: [NumberedEntry] = []
            entries.reserveCapacity(rows.rowCount)
            for row in 0..<rows.rowCount {
                guard let number = rows.number(row, 0), number > 0, let body = rows.bytes(row, 1)
                else {
                    throw .damaged("the table \(logs.table.name) has another form")
                }
                entries.append(NumberedEntry(number: UInt64(number), bytes: body))
            }
            guard !entries.isEmpty else {
                try checkEnd(&link, before: number, deadline)
                if !isFollowed { link.closeIfIdle() }
                return []
            }
            // An entry that was committed without its standby must not be taken for durable.
            try link.confirm(until: deadline)
            return entries
        }
    }

    /// Nothing is there from this number on.
    private func checkEnd(
        _ link: inout PostgreSQLLink,
        before number: UInt64,
        _ deadline: Moment
    ) throws(CommitLogError) {
        guard let last = try last(&link, deadline) else {
            throw .damaged("the log of the shard \(shard) in the table \(logs.table.name) is gone")
        }
        guard number <= last + 1 else {
            throw .damaged(
                "the table \(logs.table.name) ends with entry \(last) of the shard \(shard), but there was an "
                    + "entry \(number - 1)"
            )
        }
        guard number == last + 1 else {
            throw .unreachable("entry \(number) cannot be read yet, or is lost; it is read again")
        }
    }

    package func trim(before number: UInt64) throws(CommitLogError) -> Bool {
        try reader.withLock { link throws(CommitLogError) in
            let values: [PostgreSQLSession.Value] = [
                .text(shard), .number(Int64(clamping: number)), .number(LogTable.rowsDeleted),
            ]
            let deleted = try link.run(logs.deleteEntries, values, until: .now + Self.timeout)
            let isDone = deleted.changedCount < Int(LogTable.rowsDeleted)
            if isDone, !isFollowed { link.closeIfIdle() }
            return isDone
        }
    }

    package var name: String { "postgresql \(logs.table.name) \(shard)" }
}
