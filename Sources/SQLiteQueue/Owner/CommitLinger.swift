import Queue
import System

/// Decides how long the queue waits for more batches before it commits.
///
/// A commit costs a sync and a transaction, whatever its size, so batches that come soon should
/// share one. But most clients send again only after their answer. So the queue waits only until
/// nearly as many requests are here as the last commit answered, and never longer than a commit
/// takes: in that time it would have stored what was here.
///
/// While a commit runs, the loops decode the next batches. Waiting for all clients would end that:
/// at 32 connections the queue and the loops would take turns.
struct CommitLinger {
    enum Decision: Equatable {
        case commit(CommitReason)
        /// Wait until so many requests are here, but no longer than this.
        case wait(Duration, requests: Int)
    }

    /// A request this long after the last commit is committed at once. Zero: every request is.
    private let longest: Duration
    private let bytesEnough: Int
    private var lastCommit: Moment?
    /// Seven eighths of the last commit's requests: clients that pause must not hold up the others.
    private var expected = 0
    /// The moving average of a commit's time.
    private var cost = Duration.zero
    /// The time of the first decision since the last commit that found requests.
    private var began: Moment?

    init(longest: Duration, bytesEnough: Int) {
        self.longest = longest
        self.bytesEnough = bytesEnough
    }

    /// Notes a commit. Without requests it stored work of delivery or of operators.
    mutating func committed(requests: Int, took time: Duration, at end: Moment) {
        lastCommit = end
        began = nil
        cost = cost == .zero ? time : cost + (time - cost) / 8
        if requests > 0 { expected = (requests * 7 + 7) / 8 }
    }

    mutating func decide(requests: Int, bytes: Int, at now: Moment) -> Decision {
        let rest = lastCommit.map { longest - (now - $0) } ?? .zero
        guard rest > .zero else { return .commit(requests > 0 ? .alone : .otherWork) }
        // Other work shares the commit of the next request.
        guard requests > 0 else { return .wait(rest, requests: 1) }
        if bytes >= bytesEnough { return .commit(.enoughBytes) }
        if requests >= expected { return .commit(.returned) }
        let began = began ?? now
        self.began = began
        let left = min(rest, cost - (now - began))
        return left > .zero ? .wait(left, requests: expected) : .commit(.waitTooLong)
    }
}
