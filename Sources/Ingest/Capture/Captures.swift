import HTTP
import Net
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
            return true
        }
        guard isTaken else { throw .tooManyRunning }
        isRunning.store(true, ordering: .releasing)
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
        let running = sessions.withLock { $0.filter(\.isRunning) }
        if running.isEmpty { isRunning.store(false, ordering: .relaxed) }
        let path = head.pathText
        return running.filter { $0.filter.admits(path: path, address: address) }
    }
}
