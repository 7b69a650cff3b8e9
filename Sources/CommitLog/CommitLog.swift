/// The replicated log behind a shard: the shard's transactions, each one before it is committed anywhere else. The log
/// is *fenced*: an append names the last entry that its writer knows, and is refused if there is a newer one. So of two
/// gateways that both take a shard for theirs, only one can commit.
///
/// This is the door of an engine, such as a broker. All calls block, and may be made from any thread, but a log has one
/// writer at a time.
package protocol CommitLog: Sendable {
    /// Appends the parts one behind the other if `last` is the number of the log's last entry (0: it has none). Returns
    /// when they are as durable as the engine was configured, or when it does not know.
    ///
    /// May be called again with the same arguments: an entry is appended once for each `id` and place in `parts`.
    func append(_ parts: [[UInt8]], after last: UInt64, id: AppendID) -> AppendAnswer

    /// Entries from this number on, in their order, at least one and at most about so many bytes. Numbers that were
    /// trimmed or lost are left out, which the caller sees. Empty behind the last entry.
    func read(from number: UInt64, atMost bytes: Int) throws(CommitLogError) -> [NumberedEntry]

    /// Removes the entries before this number. The engine may do it later, or again.
    func trim(before number: UInt64) throws(CommitLogError)
}

/// Makes each append different from all others: two writers may choose the same epoch, and one must not take the other's
/// entry for its own.
package struct AppendID: Hashable, Sendable {
    /// Random, for each writer.
    package let writer: UInt64
    package let epoch: UInt64
    /// The number of the commit.
    package let commit: UInt64

    package init(writer: UInt64, epoch: UInt64, commit: UInt64) {
        self.writer = writer
        self.epoch = epoch
        self.commit = commit
    }
}

package struct NumberedEntry: Equatable, Sendable {
    /// Ascending in the log, from 1.
    package let number: UInt64
    package let bytes: [UInt8]

    package init(number: UInt64, bytes: [UInt8]) {
        self.number = number
        self.bytes = bytes
    }
}

package enum AppendAnswer: Equatable, Sendable {
    /// Durable, and the last part has this number.
    case appended(UInt64)
    /// Not appended: there is an entry behind the one that the writer named.
    case fenced
    /// Perhaps appended, now or later. Only the same append again, or one by another epoch, settles it.
    case unknown(String)
    /// Not appended: the engine has no room.
    case noRoom(String)
    /// Not appended: the engine is not to be reached.
    case away(String)
}

package struct CommitLogError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Equatable, Sendable {
        /// Another writer has the log.
        case fenced
        /// The engine has no room.
        case noRoom
        /// The engine is not to be reached, or it does not answer.
        case away
        /// An entry is missing or cannot be read.
        case damaged
        /// Written by a newer Sluice.
        case newer
    }

    package let kind: Kind
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
