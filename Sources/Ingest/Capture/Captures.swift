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

    /// What the followed logs learn, in order.
    private enum News: Sendable {
        case follow(Followed)
        case ended([EndedLogs])
        case attempt(PacketAttempt)
        /// News before these are missing.
        case lost

        var isLoss: Bool { if case .lost = self { true } else { false } }
    }

    private struct Inbox {
        var news: [News] = []
        var bytes = 0
    }

    /// The captures keep the logs. What they forget needs no news.
    private struct Followed {
        weak var logs: FollowedLogs?
    }

    private let isRunning = Atomic<Bool>(false)
    private let sessions = Locked<[CaptureSession]>([])
    private let captured = Atomic<Int>(0)
    private let budget: CaptureBudget
    /// False: news cost their sender nothing. Read for each packet.
    private let isFollowing = Atomic<Bool>(false)
    private let inbox = Locked(Inbox())
    /// Oldest first. Only `tellNews` uses it.
    private let followed = Locked<[Followed]>([])
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
        wake()
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

    /// Follows the logs until nothing keeps them. Called when their request is answered: news of
    /// them come later, so none is too early for them.
    func follow(_ logs: FollowedLogs) {
        guard !logs.isDone else { return }
        if !post(.follow(Followed(logs: logs)), bytes: MemoryLayout<News>.stride) { logs.giveUp() }
    }

    /// Returns false if the news are lost. The first news in an empty inbox wake the thread.
    @discardableResult
    private func post(_ news: News, bytes: Int) -> Bool {
        let (wasEmpty, hasRoom) = inbox.withLock { inbox in
            if case .follow = news { isFollowing.store(true, ordering: .relaxed) }
            let wasEmpty = inbox.news.isEmpty
            let hasRoom = bytes <= Self.newsBytesMax - inbox.bytes
            // To find the logs that lost news concern would take the time that is missing.
            let kept = hasRoom ? news : .lost
            if hasRoom { inbox.bytes += bytes }
            if !kept.isLoss || inbox.news.last?.isLoss != true { inbox.news.append(kept) }
            return (wasEmpty, hasRoom)
        }
        if wasEmpty { wake() }
        return hasRoom
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
        followed.withLock { followed in
            let all = inbox.withLock { inbox in
                defer { inbox = Inbox() }
                return inbox.news
            }
            var logs = followed.compactMap(\.logs)
            for news in all { Self.tell(news, to: &logs) }
            followed = logs.filter { !$0.isDone }.map { Followed(logs: $0) }
            let isNoneLeft = followed.isEmpty
            // What came meanwhile has its own round.
            inbox.withLock { inbox in
                guard isNoneLeft, inbox.news.isEmpty else { return }
                isFollowing.store(false, ordering: .relaxed)
            }
        }
    }

    private static func tell(_ news: News, to followed: inout [FollowedLogs]) {
        switch news {
        case .follow(let new):
            guard let logs = new.logs else { return }
            // The oldest ones make room: they wait for a destination that takes nothing.
            if followed.count >= followedMax { followed.removeAll(where: \.isDone) }
            if followed.count >= followedMax { followed.removeFirst().giveUp() }
            followed.append(logs)
        case .ended(let ended):
            // Most lists concern none of the followed logs.
            let first = ended.map(\.numbers.lowerBound).min() ?? 0
            let last = ended.map(\.affected.upperBound).max() ?? 0
            for logs in followed where logs.mayHave(first, last) { logs.note(ended) }
        case .attempt(let attempt): for logs in followed { logs.note(attempt) }
        case .lost: for logs in followed { logs.loseTrack() }
        }
    }
}

extension Captures: AttemptWatcher {
    package var wantsAttempts: Bool { isFollowing.load(ordering: .relaxed) }

    package func note(_ attempt: PacketAttempt) {
        if wantsAttempts { post(.attempt(attempt), bytes: attempt.weight) }
    }
}

extension Captures: QueueWatcher {
    /// While a capture runs, a request may be stored whose logs end in the same transaction.
    package var wantsEnds: Bool { mayWant || wantsAttempts }

    package func note(_ ended: [EndedLogs]) {
        if wantsAttempts { post(.ended(ended), bytes: ended.reduce(0) { $0 + $1.weight }) }
    }

    /// The ends of all logs that are followed now may never be told.
    package func loseTrack() { if wantsAttempts { post(.lost, bytes: 0) } }
}

extension EndedLogs {
    /// About the memory that it takes.
    fileprivate var weight: Int {
        if case .dead(let ids) = end { 96 + 8 * ids.count } else { 64 }
    }
}
