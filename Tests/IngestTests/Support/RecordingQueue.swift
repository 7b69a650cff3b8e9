import Queue
import System

/// A queue that keeps what it is given in memory and says what it is told to say.
final class RecordingQueue: BatchQueue {
    private let batches = Locked<[Batch]>([])
    private let named = Locked<[BatchIdentity?]>([])
    private let state = Locked(QueueAdmission.open)
    private let closed = Locked<[Outlet: QueueAdmission]>([:])
    private let full = Locked<[String: QueueAdmission]>([:])
    /// What `append` answers, which may differ from what was said before the body.
    let outcome = Locked(AppendOutcome.stored)
    /// What is said about texts that cannot be read.
    let keepsUnreadable = Locked(true)
    private let counted = Locked(IntakeTally())
    /// Answers that wait until `release`, if there are any that shall.
    private let waiting = Locked<[@Sendable () -> Void]?>(nil)

    func hold() { waiting.withLock { $0 = [] } }

    func release() {
        let answers = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting ?? []
        }
        for answer in answers { answer() }
    }

    var stored: [Batch] { batches.withLock { $0 } }
    /// The sum of all tallies, with and without batches.
    var tally: IntakeTally { counted.withLock { $0 } }
    /// One for each call of `append`.
    var identities: [BatchIdentity?] { named.withLock { $0 } }

    var admission: QueueAdmission { state.withLock { $0 } }
    var failsWhileOthersWork: Bool { failsAlone.withLock { $0 } }
    let failsAlone = Locked(false)

    func say(_ admission: QueueAdmission) {
        state.withLock { $0 = admission }
    }

    func say(_ admission: QueueAdmission, for outlet: Outlet) {
        closed.withLock { $0[outlet] = admission }
    }

    func admission(for outlet: Outlet) -> QueueAdmission {
        closed.withLock { $0[outlet] } ?? admission
    }

    func crowdedOut(_ outlets: [Outlet]) -> Set<Outlet> {
        Set(outlets.filter { admission(for: $0) == .tooManyLogstores })
    }

    func keepsUnreadable(for destination: String) -> Bool { keepsUnreadable.withLock { $0 } }

    func say(_ admission: QueueAdmission, forDestination name: String) {
        full.withLock { $0[name] = admission }
    }

    func admission(forDestination name: String) -> QueueAdmission {
        full.withLock { $0[name] } ?? admission
    }

    func count(_ tally: IntakeTally) { counted.withLock { $0 += tally } }

    func append(_ batches: [Batch], of request: any AppendingRequest) {
        named.withLock { $0.append(request.identity) }
        let outcome = outcome.withLock { $0 }
        if outcome == .stored {
            self.batches.withLock { stored in
                for batch in batches {
                    stored.append(batch)
                    let row = 1000 * Int64(stored.count)
                    let numbers = row...row + Int64(max(batch.allLogs, 1)) - 1
                    batch.track?.add(.init(stream: .home(1), row: row, numbers: numbers))
                }
            }
            count(request.tally)
        }
        let waits = waiting.withLock { waiting in
            waiting?.append { request.decided(outcome) }
            return waiting != nil
        }
        if !waits { request.decided(outcome) }
    }
}
