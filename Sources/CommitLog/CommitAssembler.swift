/// Joins the entries of a log to commits. Pure.
///
/// A commit is complete with its last part. An unfinished commit that a later epoch follows was
/// never acknowledged, and is skipped. A missing entry, a missing commit, and an entry of an older
/// epoch after a newer one has begun are damage: the engine keeps all entries, and the fence
/// refuses such appends.
package struct CommitAssembler {
    /// The last complete commit.
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
        throw CommitLogError(.damaged, "there is no whole commit up to the last entry \(lastEntry)")
    }

    /// Adds the next entry. Returns the commit that it completes.
    package mutating func add(_ stored: NumberedEntry) throws(CommitLogError) -> Commit? {
        // A trimmed log begins anywhere.
        guard lastEntry == 0 || stored.number == lastEntry &+ 1, stored.number > lastEntry else {
            throw CommitLogError(.damaged, "entry \(stored.number) follows entry \(lastEntry)")
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
            throw CommitLogError(
                .damaged,
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
            throw CommitLogError(
                .damaged,
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
                throw CommitLogError(.damaged, "parts before entry \(number) are missing")
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
                throw CommitLogError(
                    .damaged,
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
