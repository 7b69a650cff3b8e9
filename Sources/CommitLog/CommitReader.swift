/// A whole commit of a log.
package struct Commit: Equatable, Sendable {
    package let kind: CommitEntry.Kind
    package let schema: UInt32
    package let epoch: UInt64
    package let number: UInt64
    /// The entry with its first part.
    package let entry: UInt64
    package var body: [UInt8]
}

/// Puts the entries of a log together to commits. Pure.
///
/// A commit counts when its last part is there. Parts that another epoch follows were never acknowledged and are void.
/// So are entries of an epoch behind the beginning of a later one, which the fence keeps out of the log.
package struct CommitReader {
    /// Behind the last whole commit.
    package private(set) var position: LogPosition
    package private(set) var epoch: UInt64
    /// The first parts of a commit.
    private var begun: (commit: Commit, id: AppendID, next: UInt32)?
    private var lastEntry: UInt64

    /// Behind the last entry. Void parts may lie behind the last whole commit.
    package var end: LogPosition { LogPosition(entry: lastEntry, commit: position.commit) }

    package init(behind position: LogPosition, epoch: UInt64 = 0) {
        self.position = position
        self.epoch = epoch
        lastEntry = position.entry
    }

    /// The commit that the entry completes; nil: none. Throws `damaged` if an entry or a commit is missing.
    package mutating func take(_ stored: NumberedEntry) throws(CommitLogError) -> Commit? {
        // A trimmed log begins anywhere.
        guard lastEntry == 0 || stored.number == lastEntry &+ 1 else {
            throw CommitLogError(
                .damaged,
                "entry \(stored.number) follows entry \(lastEntry)"
            )
        }
        let entry: CommitEntry
        do throws(CommitLogError) {
            entry = try CommitEntry(stored.bytes)
        } catch {
            throw CommitLogError(error.kind, "entry \(stored.number): \(error)")
        }
        lastEntry = stored.number
        guard let commit = try join(entry, stored.number) else { return nil }
        // The first commit of a trimmed log has any number.
        guard position.commit == 0 || commit.number == position.commit &+ 1 else {
            throw CommitLogError(
                .damaged,
                "commit \(commit.number) follows \(position.commit) at entry \(stored.number)"
            )
        }
        position = LogPosition(entry: stored.number, commit: commit.number)
        epoch = commit.epoch
        return commit
    }

    private mutating func join(
        _ entry: CommitEntry,
        _ number: UInt64
    ) throws(CommitLogError) -> Commit? {
        guard entry.id.epoch > epoch || (entry.id.epoch == epoch && entry.kind != .epoch) else {
            throw CommitLogError(
                .damaged,
                "entry \(number) of epoch \(entry.id.epoch) lies behind the beginning of epoch \(epoch)"
            )
        }
        var commit: Commit
        if entry.part == 0 {
            // A writer ends with the first commit that it cannot finish.
            guard begun?.id.epoch != entry.id.epoch else {
                throw CommitLogError(.damaged, "parts before entry \(number) are missing")
            }
            commit = Commit(
                kind: entry.kind,
                schema: entry.schema,
                epoch: entry.id.epoch,
                number: entry.id.commit,
                entry: number,
                body: Array(entry.body)
            )
        } else {
            guard let begun, begun.id == entry.id, begun.next == entry.part else {
                throw CommitLogError(
                    .damaged,
                    "entry \(number) is part \(entry.part + 1) of a commit whose first parts are missing"
                )
            }
            commit = begun.commit
            commit.body += entry.body
        }
        if entry.part + 1 < entry.parts {
            begun = (commit, entry.id, entry.part + 1)
            return nil
        }
        begun = nil
        return commit
    }
}
