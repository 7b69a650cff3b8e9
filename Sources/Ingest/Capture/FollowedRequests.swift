import Queue
import Synchronization
import System

/// Follows the logs of captured requests out of the queue.
///
/// The queue and delivery leave their news here and go on; a thread of its own finds the logs that they concern. All
/// news go through one list, so they keep their order: the queue tells of logs that left a row before delivery sends
/// the rest.
final class FollowedRequests: Sendable {
    /// Bytes of news that wait. Beyond that they are lost, and the logs of then may never have an end.
    static let newsBytesMax = 8 << 20
    /// News that are looked up under one lock, which the queue waits for when it answers a captured request.
    private static let newsAtATime = 512

    private enum News: Sendable {
        case ended([EndedLogs])
        case attempt(PacketAttempt)
    }

    private let following = Atomic<Bool>(false)
    private let index = Locked(FollowedIndex())
    private let inbox: Mailbox<News>
    private let waitingBytes = Atomic<Int>(0)
    /// Logs with a lower id have missed news.
    private let lostBefore = Locked<Int?>(nil)
    private let worker = Locked<SerialWorker?>(nil)
    private let wake: Wake

    /// Posts a look at the news. The thread comes after the mailbox that wakes it.
    private final class Wake: Sendable {
        let call = Locked<Call?>(nil)
        struct Call { let post: @Sendable () -> Void }
        func callAsFunction() { call.withLock { $0 }?.post() }
    }

    init() {
        let wake = Wake()
        self.wake = wake
        inbox = Mailbox { wake() }
    }

    func start() throws(SystemError) {
        let worker = try SerialWorker("captures")
        try worker.start()
        self.worker.withLock { $0 = worker }
        wake.call.withLock { call in
            // The job ends with the thread, so nothing keeps this longer than `stop`.
            call = Wake.Call { [self] in _ = worker.post { [self] in tellNews() } }
        }
        wake()
    }

    func stop() {
        wake.call.withLock { $0 = nil }
        worker.withLock { $0.take() }?.stop()
    }

    /// False: news cost their sender nothing. Read for each packet.
    var isFollowing: Bool { following.load(ordering: .relaxed) }

    /// Follows the logs until nothing keeps them. Called when their request is answered. News of them come later, so
    /// none is too early for them.
    func follow(_ logs: FollowedLogs) {
        guard !logs.isDone else { return }
        let evicted = index.withLock { index in
            let evicted = index.add(logs)
            following.store(true, ordering: .relaxed)
            return evicted
        }
        evicted?.giveUp()
    }

    /// Called when captures forgot records.
    func removeForgotten() { change { $0.removeForgotten() } }

    private func change(_ body: (inout FollowedIndex) -> Void) {
        index.withLock { index in
            body(&index)
            following.store(!index.isEmpty, ordering: .relaxed)
        }
    }

    // MARK: - Senders of news

    func note(_ ended: [EndedLogs]) {
        guard isFollowing else { return }
        post(.ended(ended), bytes: ended.reduce(0) { $0 + $1.weight })
    }

    /// Most packets have no captured logs, so the thread is woken only for those that have.
    func note(_ attempt: PacketAttempt) {
        let packet = attempt.packet
        let isConcerned = index.withLock { index in
            var isConcerned = false
            index.visit(packet.numbers, of: packet.streamID) { _ in
                isConcerned = true
                return false
            }
            return isConcerned
        }
        if isConcerned { post(.attempt(attempt), bytes: attempt.weight) }
    }

    private func post(_ news: News, bytes: Int) {
        guard waitingBytes.add(bytes, ordering: .relaxed).newValue <= Self.newsBytesMax else {
            waitingBytes.subtract(bytes, ordering: .relaxed)
            // To find the logs that they concern would take the time that is missing.
            return loseTrack()
        }
        inbox.post(news)
    }

    /// The ends of all logs that are followed now may never be told.
    func loseTrack() {
        let next = index.withLock(\.nextID)
        lostBefore.withLock { $0 = next }
        wake()
    }

    // MARK: - The thread

    /// Tells the followed logs all news.
    func tellNews() {
        for news in inbox.takeAll() {
            switch news {
            case .ended(let ended):
                for start in stride(from: 0, to: ended.count, by: Self.newsAtATime) {
                    tell(ended[start..<min(start + Self.newsAtATime, ended.count)])
                }
                waitingBytes.subtract(ended.reduce(0) { $0 + $1.weight }, ordering: .relaxed)
            case .attempt(let attempt):
                tell(attempt)
                waitingBytes.subtract(attempt.weight, ordering: .relaxed)
            }
        }
        if let next = lostBefore.withLock({ $0.take() }) {
            for logs in index.withLock({ $0.logs(before: next) }) { logs.loseTrack() }
        }
    }

    private func tell(_ ended: ArraySlice<EndedLogs>) {
        let slices = index.withLock { index in
            var slices: [Int: [EndedLogs]] = [:]
            for each in ended {
                index.visit(each.affected, of: each.stream) { id in
                    slices[id, default: []].append(each)
                    return true
                }
            }
            return slices.map { (id: $0.key, logs: index[$0.key], news: $0.value) }
        }
        notifyFollowed(slices.map { ($0.id, $0.logs) }) { $0.note(slices[$1].news) }
    }

    private func tell(_ attempt: PacketAttempt) {
        let concerned = index.withLock { index in
            var ids: Set<Int> = []
            index.visit(attempt.packet.numbers, of: attempt.packet.streamID) { id in
                ids.insert(id)
                return true
            }
            return ids.map { ($0, index[$0]) }
        }
        notifyFollowed(concerned) { logs, _ in logs.note(attempt) }
    }

    /// Tells the logs, and follows those no more that have come to their end.
    private func notifyFollowed(
        _ concerned: [(id: Int, logs: FollowedLogs?)],
        _ tell: (FollowedLogs, Int) -> Void
    ) {
        var over: [Int] = []
        for (place, (id, logs)) in concerned.enumerated() {
            if let logs { tell(logs, place) }
            if logs?.isDone ?? true { over.append(id) }
        }
        if !over.isEmpty { change { index in for id in over { index.remove(id) } } }
    }
}

extension EndedLogs {
    /// The numbers that the end removes or changes.
    var affected: ClosedRange<Int64> {
        numbers.lowerBound...max(numbers.upperBound, renumberedThrough ?? numbers.upperBound)
    }

    /// About the memory that it takes.
    fileprivate var weight: Int {
        if case .dead(let ids) = end { 96 + 8 * ids.count } else { 64 }
    }
}

extension SealedPacket {
    /// The numbers that its logs may have.
    fileprivate var numbers: ClosedRange<Int64> {
        rows.lowerBound...max(rows.upperBound, rows.lowerBound + Int64(max(logCount, 1)) - 1)
    }
}
