import Glibc
import HTTP
import Net
package import Queue
import Synchronization
package import System

/// The captures that operators started, which follow the logs of their requests out of the queue.
/// While none runs, which is the usual case, they cost one atomic load per request.
///
/// The queue and delivery leave their news here and go on; a thread of its own finds the logs that
/// they concern. All news go through one list, so they keep their order: the queue tells of logs
/// that left a row before delivery sends the rest.
package final class Captures: Sendable {
    package static let runningMax = 4
    /// With those that have ended.
    package static let countMax = 16
    /// Records whose logs are followed at the same time.
    static let followedMax = 2000
    /// Bytes of news that wait. Beyond that they are lost, and the logs of then may never have an
    /// end.
    static let newsBytesMax = 8 << 20
    /// The thread lets news gather so long, not to look through all followed logs for each packet.
    private static let rest: Duration = .milliseconds(20)

    package enum Problem: Error {
        case tooManyRunning
        /// The captures have all of their bytes.
        case noBytesLeft
    }

    private enum News: Sendable {
        case ended([EndedLogs])
        case attempt(PacketAttempt)
    }

    /// The captures keep the logs. What they forget needs no news.
    private struct Followed {
        weak var logs: FollowedLogs?
        var missesNews = false
    }

    private struct Following {
        /// Oldest first.
        var followed: [Followed] = []
        var news: [News] = []
        var newsBytes = 0
    }

    private let isRunning = Atomic<Bool>(false)
    private let sessions = Locked<[CaptureSession]>([])
    private let captured = Atomic<Int>(0)
    private let budget: CaptureBudget
    /// False: news cost their sender nothing. Read for each packet.
    private let isFollowing = Atomic<Bool>(false)
    private let following = Locked(Following())
    private let worker = Locked<SerialWorker?>(nil)

    package init(bytesMax: Int) {
        budget = CaptureBudget(bytesMax: bytesMax)
    }

    /// The bytes that all captures keep, and may keep.
    package var bytes: Int { budget.used }
    package var bytesMax: Int { budget.bytesMax }

    /// Starts a capture. Beyond the limit the oldest that has ended is forgotten.
    package func start(
        _ filter: CaptureFilter,
        _ limits: CaptureSession.Limits,
        by actor: String
    ) throws(Problem) -> CaptureSession {
        let id = "c\(hex(randomBytes(4)))"
        let session = CaptureSession(id, filter, limits, by: actor, within: budget)
        var forgotten: CaptureSession?
        // Less than the smallest record.
        let hasBytes = budget.bytesMax - budget.used >= CaptureRecord.weightMin
        let isTaken = sessions.withLock { sessions in
            guard hasBytes, sessions.count(where: \.isRunning) < Self.runningMax else {
                return false
            }
            if sessions.count >= Self.countMax,
                let oldest = sessions.firstIndex(where: { !$0.isRunning })
            {
                forgotten = sessions.remove(at: oldest)
            }
            sessions.append(session)
            // Under the lock, so that a request that finds none meanwhile does not undo it.
            isRunning.store(true, ordering: .relaxed)
            return true
        }
        guard isTaken else { throw hasBytes ? .tooManyRunning : .noBytesLeft }
        if let forgotten { forget(forgotten) }
        return session
    }

    /// Oldest first.
    package var all: [CaptureSession] { sessions.withLock { $0 } }

    package func session(_ id: String) -> CaptureSession? { all.first { $0.id == id } }

    /// Stops a capture and forgets its records. False: there is none with this id.
    package func remove(_ id: String) -> Bool {
        let removed = sessions.withLock { sessions in
            sessions.firstIndex { $0.id == id }.map { sessions.remove(at: $0) }
        }
        guard let removed else { return false }
        forget(removed)
        return true
    }

    private func forget(_ session: CaptureSession) {
        session.forget()
        stopFollowing { $0.logs == nil }
    }

    /// Requests that were kept since the start, by all captures.
    package var capturedCount: Int { captured.load(ordering: .relaxed) }

    /// Read for each request.
    var mayWant: Bool { isRunning.load(ordering: .relaxed) }

    /// The running captures that a request's head suits.
    func wanting(
        _ head: RequestHead,
        behind proxies: [AddressRange],
        at now: Moment
    ) -> [CaptureSession] {
        sessions.withLock { sessions in
            var wanting: [CaptureSession] = []
            var isNoneRunning = true
            for session in sessions where session.isRunning(at: now) {
                isNoneRunning = false
                if session.filter.admits(head, behind: proxies) { wanting.append(session) }
            }
            if isNoneRunning { isRunning.store(false, ordering: .relaxed) }
            return wanting
        }
    }

    /// Keeps the record of an answered request, and follows its logs out of the queue. `news` are
    /// those of its batches; nil: nothing was stored.
    func keep(_ record: CaptureRecord, _ news: BatchTrack.News?, in session: CaptureSession) {
        var record = record
        record.followed = news.map { FollowedLogs($0, within: session.budget) }
        guard session.keep(record) else { return }
        captured.add(1, ordering: .relaxed)
        if let logs = record.followed { follow(logs) }
    }

    /// The captured requests with a log that became this dead letter.
    package func records(ofLetter id: Int64) -> [(capture: String, record: Int)] {
        all.flatMap { session in
            session.records.filter { $0.progress.letters.contains(id) }
                .map { (session.id, $0.number) }
        }
    }

    // MARK: - Followed logs

    /// Follows the logs until nothing keeps them. Called when their request is answered. News of
    /// them come later, so none is too early for them. The oldest ones make room: they wait for a
    /// destination that takes nothing.
    func follow(_ logs: FollowedLogs) {
        guard !logs.isDone else { return }
        let evicted = following.withLock { state in
            defer { state.followed.append(Followed(logs: logs)) }
            isFollowing.store(true, ordering: .relaxed)
            guard state.followed.count >= Self.followedMax else { return FollowedLogs?.none }
            state.followed.removeAll { $0.logs == nil }
            return state.followed.count < Self.followedMax ? nil : state.followed.removeFirst().logs
        }
        evicted?.giveUp()
    }

    private func stopFollowing(_ isOver: (Followed) -> Bool) {
        following.withLock { state in
            state.followed.removeAll(where: isOver)
            isFollowing.store(!state.followed.isEmpty, ordering: .relaxed)
        }
    }

    private func post(_ news: News, bytes: Int) {
        guard wantsAttempts else { return }
        let isFirst = following.withLock { state -> Bool? in
            guard state.newsBytes + bytes <= Self.newsBytesMax else { return nil }
            state.newsBytes += bytes
            state.news.append(news)
            return state.news.count == 1
        }
        // To find the logs that lost news concern would take the time that is missing.
        guard let isFirst else { return loseTrack() }
        if isFirst { wake() }
    }

    package func start() throws(SystemError) {
        let worker = try SerialWorker("captures")
        try worker.start()
        self.worker.withLock { $0 = worker }
        wake()
    }

    package func stop() { worker.withLock { $0.take() }?.stop() }

    private func wake() {
        // The job ends with the thread, so nothing keeps this longer than `stop`.
        _ = worker.withLock(\.self)?.post { [self] in
            tellNews()
            usleep(useconds_t(Self.rest / .microseconds(1)))
        }
    }

    /// Tells the followed logs all news.
    func tellNews() {
        let (news, followed) = following.withLock { state in
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
        stopFollowing { each in each.logs.map { done.contains(ObjectIdentifier($0)) } ?? true }
    }
}

extension Captures: AttemptWatcher {
    package var wantsAttempts: Bool { isFollowing.load(ordering: .relaxed) }

    package func note(_ attempt: PacketAttempt) { post(.attempt(attempt), bytes: attempt.weight) }
}

extension Captures: QueueWatcher {
    /// While a capture runs, a request may be stored whose logs end in the same transaction.
    package var wantsEnds: Bool { mayWant || wantsAttempts }

    package func note(_ ended: [EndedLogs]) {
        post(.ended(ended), bytes: ended.reduce(0) { $0 + $1.weight })
    }

    /// The ends of all logs that are followed now may never be told.
    package func loseTrack() {
        following.withLock { state in
            for index in state.followed.indices { state.followed[index].missesNews = true }
        }
        wake()
    }
}

extension EndedLogs {
    /// About the memory that it takes.
    fileprivate var weight: Int {
        if case .dead(let ids) = end { 96 + 8 * ids.count } else { 64 }
    }
}
