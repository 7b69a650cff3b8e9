import System

/// Where a reader or writer is in a commit log.
package struct LogPosition: Equatable, Sendable {
    /// The last entry.
    package var entry: UInt64
    /// The last commit. Commits are numbered without a gap, through all epochs.
    package var commit: UInt64

    package static let start = LogPosition(entry: 0, commit: 0)

    package init(entry: UInt64, commit: UInt64) {
        self.entry = entry
        self.commit = commit
    }
}

/// Appends commits to a log, in an epoch of its own. It ends with the first append that does not succeed: then nobody
/// knows what the log's last entry is, until somebody has read it and begun a new epoch.
package struct CommitWriter: ~Copyable {
    /// Waits between two attempts of an append.
    package struct Patience: Sendable {
        /// For how long an append is tried again.
        package var commitWait: Duration = .seconds(8)
        /// Between two attempts: at least this, and up to two and a half times as long.
        package var pause: Duration = .milliseconds(100)

        package init() {}
    }

    /// Brokers take messages of a mebibyte unless they are told otherwise.
    static let partBytesMax = 900 << 10

    private let log: any CommitLog
    private let writer: UInt64
    private let epoch: UInt64
    private let schema: UInt32
    private let patience: Patience
    package private(set) var position: LogPosition

    /// Begins an epoch behind this position, which must be the log's end. Throws `fenced` if it is not any more: another
    /// writer lives.
    package init(
        _ log: any CommitLog,
        behind position: LogPosition,
        lastEpoch: UInt64,
        schema: UInt32,
        patience: Patience = Patience()
    ) throws(CommitLogError) {
        self.log = log
        self.schema = schema
        self.patience = patience
        self.position = position
        writer = .random(in: 1...UInt64.max)
        epoch = lastEpoch + 1
        try publish(.epoch, [])
    }

    /// Appends a commit. It is durable when this returns. If it throws, the commit may be in the log all the same, now
    /// or later.
    package mutating func publish(
        _ kind: CommitEntry.Kind,
        _ body: [UInt8]
    ) throws(CommitLogError) {
        let id = AppendID(writer: writer, epoch: epoch, commit: position.commit + 1)
        let parts = split(kind, body, id)
        let deadline = Moment.now + patience.commitWait
        while true {
            let problem: String
            switch log.append(parts, after: position.entry, id: id) {
            case .appended(let entry):
                precondition(
                    entry == position.entry + UInt64(parts.count),
                    "the engine appended behind another entry than it was told"
                )
                return position = LogPosition(entry: entry, commit: id.commit)
            case .fenced:
                // The engine may have forgotten that the entries are ours, if the answer was lost long ago.
                switch try present(parts) {
                case parts.count: break
                case 0: throw CommitLogError(.fenced, "another writer has the log")
                default:
                    throw CommitLogError(.away, "only a part of commit \(id.commit) came through")
                }
                return position = LogPosition(
                    entry: position.entry + UInt64(parts.count),
                    commit: id.commit
                )
            case .noRoom(let text): throw CommitLogError(.noRoom, text)
            case .unknown(let text), .away(let text): problem = text
            }
            let left = deadline - .now
            guard left > .zero, let wake = try? WakeUp() else {
                throw CommitLogError(.away, problem)
            }
            // Rivals that are refused at the same moment must not come back at the same moment.
            wake.wait(timeout: min(left, patience.pause * Double.random(in: 1...2.5)))
        }
    }

    /// How many of these entries lie behind the last one that was acknowledged.
    private func present(_ parts: [[UInt8]]) throws(CommitLogError) -> Int {
        for (index, part) in parts.enumerated() {
            let number = position.entry + 1 + UInt64(index)
            let found = try log.read(from: number, atMost: 1).first
            guard found == NumberedEntry(number: number, bytes: part) else { return index }
        }
        return parts.count
    }

    private func split(_ kind: CommitEntry.Kind, _ body: [UInt8], _ id: AppendID) -> [[UInt8]] {
        let count = max(1, (body.count + Self.partBytesMax - 1) / Self.partBytesMax)
        return (0..<count).map { part in
            let first = part * Self.partBytesMax
            return CommitEntry(
                kind,
                schema: schema,
                id: id,
                part: UInt32(part),
                parts: UInt32(count),
                body: body[first..<min(first + Self.partBytesMax, body.count)]
            ).bytes
        }
    }
}
