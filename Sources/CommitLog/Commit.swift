/// A place in a commit log.
package struct LogPosition: Equatable, Sendable {
    /// The last entry before it.
    package var entry: UInt64
    /// The last commit. Commits are numbered without a gap, through all epochs.
    package var commit: UInt64
    /// The epoch of that commit.
    package var epoch: UInt64

    package static let start = LogPosition(entry: 0, commit: 0, epoch: 0)

    package init(entry: UInt64, commit: UInt64, epoch: UInt64) {
        self.entry = entry
        self.commit = commit
        self.epoch = epoch
    }
}

/// A whole commit of a log.
package struct Commit: Equatable, Sendable {
    package let kind: CommitEntry.Kind
    package let schema: UInt32
    package let id: AppendID
    /// The place before its first part.
    package let start: LogPosition
    package internal(set) var body: [UInt8]
}
