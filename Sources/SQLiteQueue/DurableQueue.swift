package import Queue
package import System

/// The durable queue: a SQLite database in a directory, and the one thread that writes it.
///
/// Between two transactions, whatever happens: each log is in one row or one dead letter, and its destination's ledger
/// counts it once; each sealed packet has all its rows, and no other packet has one of them; a lane has one packet at most.
/// Nothing is answered, and nothing is handed over, before the commit that makes it true. What our own code could get wrong
/// of this is a precondition where it would go wrong. What the disk could get wrong is an error, which leads to a repair.
///
/// Opening recovers what an earlier life left, also after `kill -9`: packets that were sealed are handed
/// over first, with the same content and pack id.
package final class DurableQueue: Sendable {
    let door: QueueHandle
    private let worker: Worker?
    private let isClosed = Locked(false)

    package convenience init(
        _ configuration: QueueConfiguration,
        journal: Journal
    ) throws(QueueError) {
        try self.init(configuration, journal: journal, clock: .started())
    }

    /// Tests bring a clock of their own.
    init(
        _ configuration: QueueConfiguration,
        journal: Journal,
        clock: QueueClock
    ) throws(QueueError) {
        let opening: Opening
        let worker: Worker
        do throws(SystemError) {
            let door = try QueueHandle(configuration)
            let started = try Opening()
            worker = try Worker("queue") {
                // Opened where it is used: the connection never changes threads.
                do throws(QueueError) {
                    let owner = try QueueOwner(configuration, door, clock, journal)
                    started.ended(nil)
                    owner.run()
                } catch {
                    started.ended(error)
                }
            }
            self.door = door
            self.worker = worker
            opening = started
        } catch {
            throw QueueError(.io, "the queue's thread cannot start: \(error).")
        }
        if let problem = opening.wait() {
            isClosed.withLock { $0 = true }
            worker.join()
            throw problem
        }
    }

    /// Without a thread: tests take the owner's turns themselves, so that the same calls do the same each time.
    init(_ door: QueueHandle) {
        self.door = door
        worker = nil
    }

    deinit { close() }

    /// The state at the last commit. Touches no disk.
    package var status: QueueStatus {
        var status = door.status.withLock { $0 }
        status.waitingBytes = door.waitingBytes
        return status
    }

    /// From now on other rules hold, for each destination; those without get the defaults. And other bounds, if
    /// there are any. Takes effect for what is stored and sealed next.
    package func apply(_ rules: [String: DestinationRules], _ bounds: QueueBounds? = nil) {
        door.post(.apply(rules, bounds))
        door.setAddresses(rules)
    }

    /// Commits what waits, moves the log into the database and closes it. Later callers are refused.
    /// Must not be called from a callback of the store.
    package func close() {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        guard isFirst else { return }
        door.setAdmissions(Admissions(queue: .stopping))
        door.post(.stop)
        worker?.join()
    }
}

/// How the owner's start ended, for the thread that waits for it.
private final class Opening: Sendable {
    private let problem = Locked<QueueError?>(nil)
    private let isOver = Locked(false)
    private let over: WakeUp

    init() throws(SystemError) {
        over = try WakeUp()
    }

    func ended(_ problem: QueueError?) {
        self.problem.withLock { $0 = problem }
        isOver.withLock { $0 = true }
        over.signal()
    }

    func wait() -> QueueError? {
        while !isOver.withLock({ $0 }) { over.wait() }
        return problem.withLock { $0 }
    }
}

// MARK: - BatchQueue

extension DurableQueue: BatchQueue {
    package var admission: QueueAdmission { door.admission }

    package func admission(for outlet: Outlet) -> QueueAdmission { door.admission(for: outlet) }

    package func admission(forDestination name: String) -> QueueAdmission {
        door.admission(forDestination: name)
    }

    /// While dead letters have less than an eighth of the queue, and those of the destination of its own bound.
    package func keepsUnreadable(for destination: String) -> Bool {
        door.status.withLock { status in
            let all = status.destinations.values.reduce(0) { $0 + $1.deadBytes }
            let own = status.destinations[destination]
            let hasOwnRoom = own?.bytesMax.map { (own?.deadBytes ?? 0) < max($0 / 8, 1) } ?? true
            return hasOwnRoom && all < max(status.bytesMax / 8, 1)
        }
    }

    package func crowdedOut(_ outlets: [Outlet]) -> Set<Outlet> { door.crowdedOut(outlets) }

    package func append(
        _ batches: [Batch],
        identity: BatchIdentity?,
        sender: String?,
        whenDurable: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        door.append(batches, identity, sender: sender, whenDurable)
    }
}
