/// Joins the entries of a log to commits. Pure.
///
/// A commit is complete with its last part. An unfinished one before a later epoch was never
/// acknowledged, and is skipped. Missing entries or commits, and an older epoch after a newer one,
/// are damage: the engine keeps all entries, and the fence refuses such appends.
package struct CommitAssembler {
    package private(set) var position: LogPosition
    private var unfinished: (commit: Commit, next: UInt32)?
    private var lastEntry: UInt64
    /// False while there were only last parts of a commit whose first parts were trimmed.
    private var hasBegun: Bool

    /// The last entry. It may belong to an unfinished commit.
    package var end: LogPosition {
        LogPosition(entry: lastEntry, commit: position.commit, epoch: position.epoch)
    }

    package init(after position: LogPosition) {
        self.position = position
        lastEntry = position.entry
        hasBegun = position.entry > 0
    }

    /// Called when the log has no more entries.
    package func checkEnd() throws(CommitLogError) {
        guard lastEntry > 0, !hasBegun else { return }
        throw .damaged("there is no whole commit up to the last entry \(lastEntry)")
    }

    /// Adds the next entry. Returns the commit that it completes.
    package mutating func add(_ stored: NumberedEntry) throws(CommitLogError) -> Commit? {
        // A trimmed log begins anywhere.
        guard lastEntry == 0 || stored.number == lastEntry &+ 1, stored.number > lastEntry else {
            throw .damaged("entry \(stored.number) follows entry \(lastEntry)")
        }
        let entry: CommitEntry
        do throws(CommitLogError) {
            entry = try CommitEntry(stored.bytes)
        } catch {
            throw CommitLogError(error.kind, "entry \(stored.number): \(error)")
        }
        try checkEpoch(of: entry, stored.number)
        let before = LogPosition(
            entry: stored.number - 1,
            commit: entry.id.commit - 1,
            epoch: position.epoch
        )
        lastEntry = stored.number
        guard let commit = try join(entry, stored.number, before) else { return nil }
        // The first commit of a trimmed log has any number.
        guard position.commit == 0 || commit.id.commit == position.commit + 1 else {
            throw .damaged(
                "commit \(commit.id.commit) follows \(position.commit) at entry \(stored.number)"
            )
        }
        position = LogPosition(
            entry: stored.number,
            commit: commit.id.commit,
            epoch: commit.id.epoch
        )
        return commit
    }

    private func checkEpoch(
        of entry: CommitEntry,
        _ number: UInt64
    ) throws(CommitLogError) {
        let isLater = entry.id.epoch > position.epoch
        guard isLater || (entry.id.epoch == position.epoch && entry.kind != .epoch) else {
            throw .damaged(
                "entry \(number) of epoch \(entry.id.epoch) follows the beginning of epoch \(position.epoch)"
            )
        }
    }

    private mutating func join(
        _ entry: CommitEntry,
        _ number: UInt64,
        _ before: LogPosition
    ) throws(CommitLogError) -> Commit? {
        // A trim may end within a commit.
        hasBegun = hasBegun || entry.part == 0
        guard hasBegun else { return nil }
        var commit: Commit
        if entry.part == 0 {
            // A writer ends with the first commit that it cannot finish.
            guard unfinished?.commit.id.epoch != entry.id.epoch else {
                throw .damaged("parts before entry \(number) are missing")
            }
            commit = Commit(
                kind: entry.kind,
                schema: entry.schema,
                id: entry.id,
                start: before,
                body: Array(entry.body)
            )
        } else {
            // Taken out, because the body would be copied for each part.
            guard unfinished?.commit.id == entry.id, unfinished?.next == entry.part,
                let begun = unfinished.take()?.commit
            else {
                throw .damaged(
                    "entry \(number) is part \(entry.part + 1) of a commit whose first parts are missing"
                )
            }
            commit = begun
            commit.body += entry.body
        }
        unfinished = nil
        guard entry.part + 1 < entry.parts else { return commit }
        unfinished = (commit, entry.part + 1)
        return nil
    }
}

/// Reads the commits of a log one after the other, up to the log's present end.
package struct CommitReader {
    private static let readBytes = 4 << 20

    private let log: any CommitLog
    private var assembler: CommitAssembler
    private var entries: ArraySlice<NumberedEntry> = []

    package init(_ log: any CommitLog, after position: LogPosition) {
        self.log = log
        assembler = CommitAssembler(after: position)
    }

    package var position: LogPosition { assembler.position }
    /// The last entry that was read. It may belong to an unfinished commit.
    package var end: LogPosition { assembler.end }

    /// nil: there is none any more.
    package mutating func next() throws(CommitLogError) -> Commit? {
        while true {
            while let entry = entries.popFirst() {
                if let commit = try assembler.add(entry) { return commit }
            }
            entries = try log.read(from: end.entry + 1, atMost: Self.readBytes)[...]
            guard !entries.isEmpty else {
                try assembler.checkEnd()
                return nil
            }
        }
    }
}

package struct LogPosition: Equatable, Sendable {
    /// The last entry before it.
    package var entry: UInt64
    /// The last commit. Commits are numbered without a gap, through all epochs.
    package var commit: UInt64
    package var epoch: UInt64

    package static let start = LogPosition(entry: 0, commit: 0, epoch: 0)

    package init(entry: UInt64, commit: UInt64, epoch: UInt64) {
        self.entry = entry
        self.commit = commit
        self.epoch = epoch
    }
}

package struct Commit: Equatable, Sendable {
    package let kind: CommitEntry.Kind
    package let schema: UInt32
    package let id: AppendID
    /// The place before its first part.
    package let start: LogPosition
    package internal(set) var body: [UInt8]
}
