import System

/// Appends commits in an epoch of its own. A failed append may still arrive, so it leaves the end
/// of the log unknown: discard the writer, read the log and begin a new epoch.
package struct CommitWriter: ~Copyable {
    /// How long a failed append is tried again, and how often.
    package struct RetryPolicy: Sendable {
        package var timeout: Duration = .seconds(8)
        /// The shortest pause between two attempts. The longest is two and a half times as long.
        package var pauseMin: Duration = .milliseconds(100)
        /// An append that takes longer is slow: its caller should be told before the timeout.
        package var slowAfter: Duration = .seconds(1)

        package init() {}
    }

    /// Brokers take messages of a mebibyte unless they are configured otherwise.
    static let partBytesMax = 900 << 10

    private let log: any CommitLog
    private let writer: UInt64
    private let schema: UInt32
    private let retries: RetryPolicy
    package private(set) var position: LogPosition
    /// Attempts that were not the first of their append.
    package private(set) var retryCount = 0
    /// Set while an append is not durable: after a failure the log's end is unknown.
    private var hasFailed = false

    /// Begins the next epoch. Throws `fenced` if another writer has appended since.
    package init(
        _ log: any CommitLog,
        after end: LogPosition,
        writer: UInt64,
        schema: UInt32,
        retries: RetryPolicy = RetryPolicy()
    ) throws(CommitLogError) {
        self.log = log
        self.writer = writer
        self.schema = schema
        self.retries = retries
        position = end
        position.epoch += 1
        try publish(.epoch, [])
    }

    /// Appends a commit. It is durable when this returns. If it throws, the commit may be in the
    /// log all the same, now or later. Calls `whenSlow` with the reason once if it takes long.
    package mutating func publish(
        _ kind: CommitEntry.Kind,
        _ body: [UInt8],
        whenSlow: (String) -> Void = { _ in }
    ) throws(CommitLogError) {
        precondition(!hasFailed, "a commit writer was used after a failed append")
        hasFailed = true
        let id = AppendID(writer: writer, epoch: position.epoch, commit: position.commit + 1)
        let parts = try split(kind, body, id)
        let began = Moment.now
        let deadline = began + retries.timeout
        var isSlow = false
        var reason: String?
        func tellIfSlow() {
            guard let reason, !isSlow, Moment.now - began >= retries.slowAfter else { return }
            isSlow = true
            whenSlow(reason)
        }
        while true {
            tellIfSlow()
            // The first attempt ends in time to tell that it is slow.
            let attempt = isSlow ? deadline : min(deadline, began + retries.slowAfter)
            let answer = log.append(parts, after: position.entry, id: id, until: attempt)
            if let problem = try problem(with: answer, parts) {
                let left = deadline - .now
                guard left > .zero, let wake = try? WakeUp() else {
                    throw .unreachable(problem)
                }
                reason = problem
                tellIfSlow()
                // Rivals that were refused together must not come back together.
                wake.wait(timeout: min(left, retries.pauseMin * Double.random(in: 1...2.5)))
                retryCount += 1
                continue
            }
            position.entry += UInt64(parts.count)
            position.commit += 1
            hasFailed = false
            return
        }
    }

    /// nil: the parts are durable. Otherwise why the append must be tried again.
    private func problem(
        with answer: AppendAnswer,
        _ parts: [[UInt8]]
    ) throws(CommitLogError) -> String? {
        switch answer {
        case .appended(let entry):
            guard entry == position.entry + UInt64(parts.count) else {
                throw .damaged("the engine appended after entry \(entry), not \(position.entry)")
            }
            return nil
        case .fenced: return try problemOfFence(parts)
        case .noRoom(let text): throw .noRoom(text)
        case .refused(let text): throw .refused(text)
        case .unknown(let text), .unreachable(let text): return text
        }
    }

    /// The engine may have forgotten that the entries are ours, or may be mistaken for a moment.
    private func problemOfFence(_ parts: [[UInt8]]) throws(CommitLogError) -> String? {
        for (index, part) in parts.enumerated() {
            let number = position.entry + 1 + UInt64(index)
            guard let found = try log.read(from: number, atMost: bytesOfOneEntry).first else {
                guard index > 0 else {
                    return "the engine refused the append, and has no newer entry"
                }
                throw .unreachable("only a part of an append came through")
            }
            if found == NumberedEntry(number: number, bytes: part) { continue }
            let isOurs = try CommitEntry(found.bytes).id.writer == writer
            guard isOurs else { throw .fenced("another writer has the log") }
            throw .unreachable("an earlier append of this gateway arrived late")
        }
        return nil
    }

    private func split(
        _ kind: CommitEntry.Kind,
        _ body: [UInt8],
        _ id: AppendID
    ) throws(CommitLogError) -> [[UInt8]] {
        let count = max(1, (body.count + Self.partBytesMax - 1) / Self.partBytesMax)
        guard count <= CommitEntry.partsMax else {
            throw .noRoom("a commit of \(body.count) bytes is larger than any may be")
        }
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
