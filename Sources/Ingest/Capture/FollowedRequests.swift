import Glibc
import Queue
import Synchronization
import System

/// Follows the logs of captured requests out of the queue.
///
/// The queue and delivery leave their news here and go on; a thread of its own finds the logs that
/// they concern. All news go through one list, so they keep their order: the queue tells of logs
/// that left a row before delivery sends the rest.
final class FollowedRequests: Sendable {
    /// Records whose logs are followed at the same time.
    static let followedMax = 2000
    /// Bytes of news that wait. Beyond that they are lost, and the logs of then may never have an
    /// end.
    static let newsBytesMax = 8 << 20
    /// The thread lets news gather so long, not to look through all followed logs for each packet.
    private static let rest: Duration = .milliseconds(20)

    private enum News: Sendable {
        case ended([EndedLogs])
        case attempt(PacketAttempt)
    }

    /// The captures keep the logs. What they forget needs no news.
    private struct Followed {
        weak var logs: FollowedLogs?
        var missesNews = false
    }

    private struct State {
        /// Oldest first.
        var followed: [Followed] = []
        var news: [News] = []
        var newsBytes = 0
    }

    private let following = Atomic<Bool>(false)
    private let state = Locked(State())
    private let worker = Locked<SerialWorker?>(nil)

    func start() throws(SystemError) {
        let worker = try SerialWorker("captures")
        try worker.start()
        self.worker.withLock { $0 = worker }
        wake()
    }

    func stop() { worker.withLock { $0.take() }?.stop() }

    private func wake() {
        // The job ends with the thread, so nothing keeps this longer than `stop`.
        _ = worker.withLock(\.self)?.post { [self] in
            tellNews()
            usleep(useconds_t(Self.rest / .microseconds(1)))
        }
    }

    /// False: news cost their sender nothing. Read for each packet.
    var isFollowing: Bool { following.load(ordering: .relaxed) }

    /// Follows the logs until nothing keeps them. Called when their request is answered. News of
    /// them come later, so none is too early for them. The oldest ones make room: they wait for a
    /// destination that takes nothing.
    func follow(_ logs: FollowedLogs) {
        guard !logs.isDone else { return }
        let evicted = state.withLock { state in
            defer { state.followed.append(Followed(logs: logs)) }
            following.store(true, ordering: .relaxed)
            guard state.followed.count >= Self.followedMax else { return FollowedLogs?.none }
            state.followed.removeAll { $0.logs == nil }
            return state.followed.count < Self.followedMax ? nil : state.followed.removeFirst().logs
        }
        evicted?.giveUp()
    }

    /// Called when captures forgot records.
    func removeForgotten() { remove { $0.logs == nil } }

    private func remove(_ isOver: (Followed) -> Bool) {
        state.withLock { state in
            state.followed.removeAll(where: isOver)
            following.store(!state.followed.isEmpty, ordering: .relaxed)
        }
    }

    // MARK: - Senders of news

    func note(_ ended: [EndedLogs]) {
        post(.ended(ended), bytes: ended.reduce(0) { $0 + $1.weight })
    }

    func note(_ attempt: PacketAttempt) { post(.attempt(attempt), bytes: attempt.weight) }

    private func post(_ news: News, bytes: Int) {
        guard isFollowing else { return }
        let isFirst = state.withLock { state -> Bool? in
            guard state.newsBytes + bytes <= Self.newsBytesMax else { return nil }
            state.newsBytes += bytes
            state.news.append(news)
            return state.news.count == 1
        }
        // To find the logs that lost news concern would take the time that is missing.
        guard let isFirst else { return loseTrack() }
        if isFirst { wake() }
    }

    /// The ends of all logs that are followed now may never be told.
    func loseTrack() {
        state.withLock { state in
            for index in state.followed.indices { state.followed[index].missesNews = true }
        }
        wake()
    }

    // MARK: - The thread

    /// Tells the followed logs all news.
    func tellNews() {
        let (news, followed) = state.withLock { state in
            defer {
                (state.news, state.newsBytes) = ([], 0)
                for index in state.followed.indices { state.followed[index].missesNews = false }
            }
            return (
                state.news,
                state.followed.compactMap { each in each.logs.map { ($0, each.missesNews) } }
            )
        }
        // Most news concern other logs: their numbers tell, without a look at each.
        let spans = news.map { news -> ClosedRange<Int64>? in
            guard case .ended(let ended) = news,
                let first = ended.map(\.numbers.lowerBound).min(),
                let last = ended.map(\.affected.upperBound).max(), first <= last
            else { return nil }
            return first...last
        }
        for (logs, missesNews) in followed {
            for (news, span) in zip(news, spans) {
                switch news {
                case .ended(let ended):
                    if let span, logs.mayHave(span.lowerBound, span.upperBound) { logs.note(ended) }
                case .attempt(let attempt): logs.note(attempt)
                }
            }
            if missesNews { logs.loseTrack() }
        }
        // Asked outside the lock, for which the queue waits.
        let done = Set(followed.filter(\.0.isDone).map { ObjectIdentifier($0.0) })
        remove { each in each.logs.map { done.contains(ObjectIdentifier($0)) } ?? true }
    }
}

extension EndedLogs {
    /// About the memory that it takes.
    fileprivate var weight: Int {
        if case .dead(let ids) = end { 96 + 8 * ids.count } else { 64 }
    }
}
