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
    private let followed = Locked<[FollowedRequest]>([])

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

    /// Notes attempts to deliver these batches in the record.
    func follow(_ record: Int, of session: CaptureSession, _ places: [FollowedRequest.Place]) {
        guard !places.isEmpty else { return }
        followed.withLock { followed in
            // The oldest wait for a destination that takes nothing, and are given up first.
            if followed.count >= FollowedRequest.countMax { followed.removeFirst() }
            followed.append(FollowedRequest(session: session, record: record, places: places))
            isFollowing.store(true, ordering: .relaxed)
        }
    }
}

/// A captured request whose batches are on their way.
struct FollowedRequest {
    static let countMax = 2000

    struct Place {
        let destination: String
        let place: BatchTrack.Place

        /// What is left when these logs have arrived.
        func without(_ numbers: ClosedRange<Int64>) -> [Place] {
            let own = place.numbers
            var left: [ClosedRange<Int64>] = []
            if own.lowerBound < numbers.lowerBound {
                left.append(own.lowerBound...numbers.lowerBound - 1)
            }
            if numbers.upperBound < own.upperBound {
                left.append(numbers.upperBound + 1...own.upperBound)
            }
            return left.map {
                Place(destination: destination, place: .init(row: place.row, numbers: $0))
            }
        }
    }

    weak let session: CaptureSession?
    let record: Int
    var places: [Place]
}

extension Captures: AttemptWatcher {
    package var wantsAttempts: Bool { isFollowing.load(ordering: .relaxed) }

    package func note(_ attempt: PacketAttempt) {
        let packet = attempt.packet
        // A single log that is refused becomes a dead letter.
        let isFinal =
            attempt.result == "stored" || attempt.result == "split" && packet.logCount == 1
        let notes = followed.withLock { followed in
            var notes: [(CaptureSession, Int, Bool)] = []
            for index in followed.indices {
                let request = followed[index]
                guard let session = request.session else { continue }
                let carried = request.places.map { each in
                    each.destination == packet.stream.destination
                        ? packet.numbers(of: each.place) : nil
                }
                guard carried.contains(where: { $0 != nil }) else { continue }
                if isFinal {
                    followed[index].places = zip(request.places, carried).flatMap { each, numbers in
                        numbers.map { each.without($0) } ?? [each]
                    }
                }
                notes.append((session, request.record, followed[index].places.isEmpty))
            }
            followed.removeAll { $0.places.isEmpty || $0.session == nil }
            isFollowing.store(!followed.isEmpty, ordering: .relaxed)
            return notes
        }
        for (session, record, isLast) in notes { session.add(attempt, to: record, isLast: isLast) }
    }
}
