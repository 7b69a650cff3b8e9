import HTTP
import Net
package import Queue
import Synchronization
import System

/// The captures that operators started. While none runs, which is the usual case, they cost one atomic load per request.
package final class Captures: Sendable {
    package static let runningMax = 4
    /// With those that have ended.
    package static let countMax = 16

    package enum Problem: Error {
        case tooManyRunning
    }

    private let isRunning = Atomic<Bool>(false)
    private let sessions = Locked<[CaptureSession]>([])
    private let captured = Atomic<Int>(0)
    private let isFollowing = Atomic<Bool>(false)
    private let followed = Locked<[Followed]>([])

    /// Captured requests whose logs are followed at the same time.
    static let followedMax = 2000

    /// The records of the request keep its logs.
    private struct Followed {
        weak let logs: FollowedLogs?
    }

    package init() {}

    /// Starts a capture. Beyond the limit the oldest that has ended is forgotten.
    package func start(
        _ filter: CaptureFilter,
        _ limits: CaptureSession.Limits,
        by actor: String
    ) throws(Problem) -> CaptureSession {
        let id = "c\(hex(randomBytes(4)))"
        let session = CaptureSession(id, filter, limits, by: actor)
        let isTaken = sessions.withLock { sessions in
            guard sessions.count(where: \.isRunning) < Self.runningMax else { return false }
            if sessions.count >= Self.countMax,
                let oldest = sessions.firstIndex(where: { !$0.isRunning })
            {
                sessions.remove(at: oldest)
            }
            sessions.append(session)
            // Under the lock, so that a request that finds none meanwhile does not undo it.
            isRunning.store(true, ordering: .relaxed)
            return true
        }
        guard isTaken else { throw .tooManyRunning }
        return session
    }

    /// Oldest first.
    package var all: [CaptureSession] { sessions.withLock { $0 } }

    package func session(_ id: String) -> CaptureSession? { all.first { $0.id == id } }

    /// Stops a capture and forgets its records. False: there is none with this id.
    package func remove(_ id: String) -> Bool {
        sessions.withLock { sessions in
            guard let index = sessions.firstIndex(where: { $0.id == id }) else { return false }
            sessions.remove(at: index).stop()
            return true
        }
    }

    /// Requests that were kept since the start, by all captures.
    package var capturedCount: Int { captured.load(ordering: .relaxed) }

    func countCaptured() { captured.add(1, ordering: .relaxed) }

    /// Read for each request.
    var mayWant: Bool { isRunning.load(ordering: .relaxed) }

    /// The running captures that a request's head suits.
    func wanting(_ head: RequestHead, from address: IPAddress?) -> [CaptureSession] {
        let running = sessions.withLock { sessions in
            let running = sessions.filter(\.isRunning)
            if running.isEmpty { isRunning.store(false, ordering: .relaxed) }
            return running
        }
        let path = head.pathText
        return running.filter { $0.filter.admits(path: path, address: address) }
    }

    /// Follows batches on their way, until nothing keeps what this returns.
    func follow(_ tracks: [BatchTrack]) -> FollowedLogs {
        let logs = FollowedLogs(tracks)
        let given = followed.withLock { followed in
            var given: FollowedLogs?
            if followed.count >= Self.followedMax {
                followed.removeAll { $0.logs.map(\.isDone) ?? true }
                // The oldest wait for a destination that takes nothing, and are given up first.
                if followed.count >= Self.followedMax { given = followed.removeFirst().logs }
            }
            followed.append(Followed(logs: logs))
            isFollowing.store(true, ordering: .relaxed)
            return given
        }
        given?.loseTrack()
        return logs
    }

    /// The captured requests with a log that became this dead letter.
    package func records(ofLetter id: Int64) -> [(capture: String, record: Int)] {
        all.flatMap { session in
            session.records.filter { $0.progress.letters.contains(id) }
                .map { (session.id, $0.number) }
        }
    }

    /// Tells the logs on their way, and forgets those that have come to their end.
    private func tell(_ news: (FollowedLogs) -> Void) {
        for logs in followed.withLock({ $0.compactMap(\.logs) }) { news(logs) }
        followed.withLock { followed in
            followed.removeAll { $0.logs.map(\.isDone) ?? true }
            isFollowing.store(!followed.isEmpty, ordering: .relaxed)
        }
    }
}

extension Captures: AttemptWatcher {
    package var wantsAttempts: Bool { isFollowing.load(ordering: .relaxed) }

    package func note(_ attempt: PacketAttempt) { tell { $0.note(attempt) } }
}

extension Captures: QueueWatcher {
    package var wantsEnds: Bool { isFollowing.load(ordering: .relaxed) }

    package func note(_ ended: [EndedLogs]) {
        tell { logs in for each in ended { logs.note(each) } }
    }

    package func loseTrack() { tell { $0.loseTrack() } }
}
