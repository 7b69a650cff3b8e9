import HTTP
import Net
package import Queue
import Synchronization
package import System

/// The captures that operators started. While none runs, which is the usual case, they cost one
/// atomic load per request.
package final class Captures: Sendable {
    package static let runningMax = 4
    /// With those that have ended.
    package static let countMax = 16

    package enum Problem: Error {
        case tooManyRunning
        /// The captures have all of their bytes.
        case noBytesLeft
    }

    private let isRunning = Atomic<Bool>(false)
    private let sessions = Locked<[CaptureSession]>([])
    private let captured = Atomic<Int>(0)
    private let followed = FollowedRequests()
    private let budget: CaptureBudget

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
        followed.removeForgotten()
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
        if let logs = record.followed { followed.follow(logs) }
    }

    /// The captured requests with a log that became this dead letter.
    package func records(ofLetter id: Int64) -> [(capture: String, record: Int)] {
        all.flatMap { session in
            session.records.filter { $0.progress.letters.contains(id) }
                .map { (session.id, $0.number) }
        }
    }

    // MARK: - The thread that follows logs

    package func start() throws(SystemError) { try followed.start() }

    package func stop() { followed.stop() }

    /// Tests tell the news themselves.
    func tellNews() { followed.tellNews() }
}

extension Captures: AttemptWatcher {
    package var wantsAttempts: Bool { followed.isFollowing }

    package func note(_ attempt: PacketAttempt) { followed.note(attempt) }
}

extension Captures: QueueWatcher {
    /// While a capture runs, a request may be stored whose logs end in the same transaction.
    package var wantsEnds: Bool { mayWant || followed.isFollowing }

    package func note(_ ended: [EndedLogs]) { followed.note(ended) }

    package func loseTrack() { followed.loseTrack() }
}
