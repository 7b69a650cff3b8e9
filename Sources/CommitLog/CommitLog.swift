package import System

/// The replicated log of a shard's transactions, which an engine such as a broker implements.
///
/// It is *fenced*: an append names the last entry that its writer knows, and is refused if there is
/// a newer one. So of two gateways that both take a shard for theirs, only one can commit.
///
/// Calls block. They may come from any thread, but a log has one writer at a time.
package protocol CommitLog: Sendable {
    /// Appends the parts in order if the log's last entry is `last` (0: the log is empty). Blocks
    /// until the engine has confirmed or refused them, has given up, or the time is over. Not
    /// atomic: unless it answers `appended`, a prefix of the parts may be in the log.
    ///
    /// A retry passes the same arguments. The engine recognises it by `id` and place, but only for
    /// a limited time. After that it answers `fenced` although the entries are there.
    func append(
        _ parts: [[UInt8]],
        after last: UInt64,
        id: AppendID,
        until deadline: Moment
    ) -> AppendAnswer

    /// Entries from this number on, at least one, and about so many bytes. Trimmed or lost entries
    /// show as gaps in the numbers. Empty after the last entry; an error beyond that: the end is
    /// lost.
    func read(from number: UInt64, atMost bytes: Int) throws(CommitLogError) -> [NumberedEntry]

    /// Tells this log from others.
    var name: String { get }

    /// Removes the entries before this number, or some of them: false if there are more. It takes a
    /// bounded time, in which the log takes no append. The engine may also do it later.
    func trim(before number: UInt64) throws(CommitLogError) -> Bool

    /// Has the engine reserve room for so many bytes more than the log has, or as much as its bound
    /// allows. Returns what the log may hold then; nil: the engine reserves nothing.
    func makeRoom(for bytes: Int) throws(CommitLogError) -> Int?
}

/// The bound of a log for a queue of so many bytes: two bases, as many bytes of commits beside
/// each, and abandoned bases.
package func commitLogBytesMax(forQueueOf bytes: Int) -> Int { bytes * 5 + (1 << 30) }

/// The `atMost` of `CommitLog.read` for exactly one entry. Such reads settle an append or find an
/// end: they work while a gateway stops, and are no progress.
package let bytesOfOneEntry = 1

extension CommitLog {
    package func makeRoom(for bytes: Int) -> Int? { nil }

    /// Removes all entries before this number.
    package func trimAll(before number: UInt64) throws(CommitLogError) {
        while try !trim(before: number) {}
    }
}

/// A log that lies elsewhere, as the start of a gateway sees it.
package protocol EngineLog: CommitLog {
    /// Checks that the log is what the settings demand. With `makes` it makes one that is not
    /// there; otherwise that is a `missing` error. `append` and `read` work after it only.
    func open(makes: Bool) throws(CommitLogError)

    /// What the log may hold now, after `open`; nil: it has no bound.
    var bytesMax: Int? { get }
}

/// Makes each append different from all others: two writers may choose the same epoch, and one must
/// not take the other's entry for its own.
package struct AppendID: Hashable, Sendable {
    /// Random, for each life of a gateway.
    package let writer: UInt64
    package let epoch: UInt64
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
    /// All parts are durable, and the last one has this number.
    case appended(UInt64)
    /// Refused: there is a newer entry than `last`. After a retry it may be the caller's own.
    case fenced
    /// The append may arrive, now or later. The same append again, or the next epoch, settles it.
    case unknown(String)
    case noRoom(String)
    case unreachable(String)
    /// The engine does not let this gateway append.
    case refused(String)
}

package struct CommitLogError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Equatable, Sendable {
        case fenced
        case noRoom
        /// The engine cannot be reached or does not answer. It may pass.
        case unreachable
        /// The engine refuses this gateway, or lacks what the log needs; an operator can change
        /// that.
        case refused
        /// An entry is missing or cannot be read.
        case damaged
        case newer
        case missing
    }

    package let kind: Kind
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    package static func fenced(_ text: String) -> Self { Self(.fenced, text) }
    package static func noRoom(_ text: String) -> Self { Self(.noRoom, text) }
    package static func unreachable(_ text: String) -> Self { Self(.unreachable, text) }
    package static func refused(_ text: String) -> Self { Self(.refused, text) }
    package static func damaged(_ text: String) -> Self { Self(.damaged, text) }
    package static func newer(_ text: String) -> Self { Self(.newer, text) }
    package static func missing(_ text: String) -> Self { Self(.missing, text) }

    package static func onSystem<Value>(
        _ kind: Kind = .unreachable,
        _ body: () throws(SystemError) -> Value
    ) throws(CommitLogError) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw CommitLogError(kind, error.description)
        }
    }
}
