package import Queue
package import System

/// The durable queue: a SQLite database in a directory, and the one thread that writes it.
///
/// These statements hold between two transactions, whatever happens. Each log is in one row or one
/// dead letter, and its destination's ledger counts it once. Each sealed packet has all its rows,
/// and no other packet has one of them. A lane has at most one packet. The queue answers and hands
/// over nothing before the commit.
///
/// A precondition guards each statement that our own code could break. If the disk breaks one, that
/// is an error, which leads to a repair.
///
/// Opening recovers the state that an earlier process left, even after `kill -9`. The queue hands
/// over sealed packets first, with the same content and pack id.
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

    /// Tests use a clock of their own.
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
                // The owner opens the store on its own thread: the connection never changes
                // threads.
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

    /// Makes a queue without a thread. Tests take the owner's turns themselves, so the same calls
    /// always do the same.
    init(_ door: QueueHandle) {
        self.door = door
        worker = nil
    }

    deinit { close() }

}

/// The result of the owner's start, for the thread that waits for it.
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

// MARK: - As a whole

extension DurableQueue: GatewayQueue {
    package var status: QueueStatus {
        var status = door.status.withLock { $0 }
        status.waitingBytes = door.waitingBytes
        return status
    }

    package func apply(_ rules: [String: DestinationRules], _ bounds: QueueBounds?) {
        door.post(.apply(rules, bounds))
        door.setAddresses(rules)
    }

    package func tellEnds(to watcher: any QueueWatcher) { door.watcher.set(watcher) }

    /// Also moves the WAL into the database.
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

// MARK: - BatchQueue

extension DurableQueue: BatchQueue {
    package var admission: QueueAdmission { door.admission }

    package func admission(for outlet: Outlet) -> QueueAdmission { door.admission(for: outlet) }

    package func admission(forDestination name: String) -> QueueAdmission {
        door.admission(forDestination: name)
    }

    /// True while dead letters take less than an eighth of the queue, and those of the destination
    /// less than an eighth of its own bound.
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
        tally: IntakeTally,
        on thread: (any CallbackThread)?,
        whenDurable: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        door.append(batches, identity, sender: sender, tally: tally, on: thread, whenDurable)
    }

    package func count(_ tally: IntakeTally) { door.count(tally) }
}
