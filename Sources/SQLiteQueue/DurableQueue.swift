package import Queue
package import System

/// The durable queue: a SQLite database in a directory, and the one thread that writes it.
///
/// Between two transactions, whatever happens: each log is in one row or one dead letter, and its
/// destination's ledger counts it once. Each sealed packet has all its rows, and no other packet
/// has one of them. A lane has at most one packet. The queue answers and hands over nothing before
/// the commit.
///
/// A precondition guards each statement that our own code could break. If the disk breaks one, that
/// is an error, which leads to a repair.
///
/// Opening recovers the state of an earlier process, even after `kill -9`. The queue hands over
/// sealed packets first, with the same content and pack id.
package final class DurableQueue: Sendable {
    let handle: QueueHandle
    private let worker: Worker?
    private let isClosed = Locked(false)

    package convenience init(
        _ configuration: QueueConfiguration,
        journal: Journal
    ) throws(QueueError) {
        try self.init(configuration, journal: journal, clock: .started())
    }

    init(
        _ configuration: QueueConfiguration,
        journal: Journal,
        clock: QueueClock
    ) throws(QueueError) {
        /// The result of the owner's start, for which this thread waits.
        let opening: Promise<QueueError?>
        let worker: Worker
        do throws(SystemError) {
            let handle = try QueueHandle(configuration)
            let started = try Promise<QueueError?>()
            worker = try Worker("queue") {
                // The owner opens the store on its own thread: the connection never changes
                // threads.
                do throws(QueueError) {
                    let owner = try QueueOwner(configuration, handle, clock: clock, journal)
                    started.bring(nil)
                    owner.run()
                } catch {
                    started.bring(error)
                }
            }
            self.handle = handle
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

    /// A queue without a thread. Tests take the owner's turns, so the same calls do the same.
    init(_ handle: QueueHandle) {
        self.handle = handle
        worker = nil
    }

    deinit { close() }

    // What a queue is to the fleet of shards that it belongs to. Answers come on the queue's
    // thread.

    /// The shard that absorbs this one; nil: none does.
    package var cededTo: String? { handle.absorptionState.withLock { $0.cededTo } }

    package var isLost: Bool { handle.status.withLock { $0.problem?.kind == .fenced } }

    /// True while it takes nothing because of its commit log, and not because of the disk here or
    /// because another gateway has the shard.
    package var isLogFailing: Bool {
        let (kind, admission) = handle.status.withLock { ($0.problem?.kind, $0.admission) }
        return switch kind {
        case .unreachable, .refused, .commitLogDamaged: admission == .failing
        case .commitLogFull: admission == .diskFull
        default: false
        }
    }

    /// The shards that this one absorbs, and how far that is.
    package var absorptions: [String: AbsorptionProgress] {
        handle.absorptionState.withLock { $0.absorptions }
    }

    /// The present epoch of the commit log; 0: there is no log.
    package var epoch: Int { handle.status.withLock { $0.commitLog?.epoch ?? 0 } }

    /// The last entry of the commit log that this gateway knows.
    package var lastEntry: Int { handle.status.withLock { $0.commitLog?.entry ?? 0 } }

    /// Makes this the shard's last transaction if nothing waits in it. Answers whether it is.
    package func cede(to shard: String, whenDurable: @escaping @Sendable (Bool) -> Void) {
        handle.post(.shard(.cede(to: shard, whenDurable)))
    }

    /// Notes that this shard is about to absorb another one. Answers whether that is durable.
    package func intend(toAbsorb shard: String, whenDurable: @escaping @Sendable (Bool) -> Void) {
        handle.post(.shard(.intend(shard, whenDurable)))
    }

    /// Takes over what a ceded shard has left, from its directory, which no queue uses.
    package func absorb(
        _ shard: String,
        in directory: String,
        whenDone: @escaping @Sendable (AbsorptionOutcome) -> Void
    ) {
        handle.post(.shard(.absorb(shard, from: directory, whenDone)))
    }

    /// Forgets that the shard was absorbed: its log is gone.
    package func forget(absorbed shard: String, whenDurable: @escaping @Sendable (Bool) -> Void) {
        handle.post(.shard(.forget(shard, whenDurable)))
    }
}

// MARK: - As a whole

extension DurableQueue: GatewayQueue {
    package var status: QueueStatus {
        var status = handle.status.withLock { $0 }
        status.waitingBytes = handle.waitingBytes
        return status
    }

    package func apply(_ rules: [String: DestinationRules], _ bounds: QueueBounds?) {
        handle.post(.apply(rules, bounds))
        handle.setAddresses(rules)
    }

    package var decisions: any Decisions { self }

    package func tellEnds(to watcher: any QueueWatcher) { handle.watcher.set(watcher) }

    /// Also moves the WAL into the database.
    package func close() {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        guard isFirst else { return }
        handle.setAdmissions(Admissions(queue: .stopping))
        handle.post(.stop)
        worker?.join()
    }
}

// MARK: - BatchQueue

extension DurableQueue: BatchQueue {
    package var admission: QueueAdmission { handle.admission }

    package func admission(for outlet: Outlet) -> QueueAdmission { handle.admission(for: outlet) }

    package func admission(forDestination name: String) -> QueueAdmission {
        handle.admission(forDestination: name)
    }

    /// True while dead letters take less than an eighth of the queue, and of the destination's
    /// bound.
    package func keepsUnreadable(for destination: String) -> Bool {
        handle.status.withLock { status in
            let all = status.destinations.values.reduce(0) { $0 + $1.deadBytes }
            let own = status.destinations[destination]
            let hasOwnRoom = own?.bytesMax.map { (own?.deadBytes ?? 0) < max($0 / 8, 1) } ?? true
            return hasOwnRoom && all < max(status.bytesMax / 8, 1)
        }
    }

    package func crowdedOut(_ outlets: [Outlet]) -> Set<Outlet> { handle.crowdedOut(outlets) }

    package func append(_ batches: [Batch], of request: any AppendingRequest) {
        handle.append(batches, of: request)
    }

    package func count(_ tally: IntakeTally) { handle.count(tally) }
}

extension DurableQueue: PacketSource {
    package func post(_ request: DeliveryRequest) { handle.post(request) }

    package func blocks(of packet: SealedPacket) throws(QueueError) -> [StoredBlock] {
        let number = handle.number(of: packet.id)
        if handle.recalls.contains(number) || handle.goesElsewhere(packet.stream) {
            end(packet, .recalled)
            throw QueueError(.withdrawn, "\(packet.id) is taken back by the queue.")
        }
        if let recent = packet.recent { return recent }
        do throws(QueueError) {
            return try handle.reader.withLock { reader throws(QueueError) in
                try reader.blocks(of: packet)
            }
        } catch {
            if error.kind == .corrupt { handle.post(.unreadable(number)) }
            throw error
        }
    }
}

extension DurableQueue: DeadLetters {
    package func deadLetters(
        matching filter: DeadLetterFilter,
        after id: Int64,
        limit: Int
    ) throws(QueueError) -> DeadLetterPage {
        var portion = DeadQueries.Portion.page(limit: limit)
        let shard = handle.shard
        // A page may begin behind the letters of another shard.
        var next: Int64? = max(0, id - shard.letterID(0))
        // Each step is a transaction of its own. Between two steps the owner can close the reader.
        for _ in 0..<Self.pageStepsMax {
            guard let position = next, !portion.isFull else { break }
            next = try handle.letters.withLock { reader throws(QueueError) in
                try reader.collect(filter, after: position, into: &portion)
            }
        }
        return DeadLetterPage(
            letters: portion.letters.map { $0.letter(of: shard) },
            next: next.map(shard.letterID)
        )
    }

    private static let pageStepsMax = 25

    package func deadLetter(_ id: Int64) throws(QueueError) -> DeadLetter? {
        guard let number = handle.shard.number(ofLetter: id) else { return nil }
        let stored = try handle.letters.withLock { reader throws(QueueError) in
            try reader.letter(number)
        }
        return stored?.letter(of: handle.shard)
    }

    package var deadLetterSums: [DeadLetterSum] { handle.status.withLock { $0.deadLetters } }

    package func change(
        _ work: DeadLetterWork,
        _ selection: DeadLetterSelection,
        whenDone: @escaping @Sendable (DeadLetterChange) -> Void
    ) {
        var job = LetterJob(work: work, selection: selection, answer: whenDone)
        if case .ids(let ids) = selection {
            guard ids.count <= DeadLetterSelection.idsMax else {
                job.result.end = .tooManyIDs
                return whenDone(job.result)
            }
            // Distinct ones.
            let numbers = Set(ids).compactMap(handle.shard.number(ofLetter:))
            job.selection = .ids(numbers.sorted())
        }
        handle.post(.letters(.change(job)))
    }

    package func replace(
        _ id: Int64,
        with edit: DeadLetterEdit,
        whenDone: @escaping @Sendable (DeadLetterEditOutcome) -> Void
    ) {
        guard let number = handle.shard.number(ofLetter: id) else { return whenDone(.notFound) }
        handle.post(.letters(.edit(number, edit, whenDone)))
    }
}

// MARK: - Decisions

extension DurableQueue: Decisions {
    package func decide(
        _ decision: Decision,
        whenDurable: @escaping @Sendable (DecisionRefusal?) -> Void
    ) {
        guard decision.isReasonable else { return whenDurable(.tooLarge) }
        handle.post(.decision(.change(decision, whenDurable)))
    }

    package func recall(
        _ answer: @escaping @Sendable (Result<[String: [UInt8]], QueueError>) -> Void
    ) {
        handle.post(.decision(.recall(answer)))
    }

    package func followDecisions(_ receiver: @escaping @Sendable () -> Void) {}

    package var areDecisionsShared: Bool { false }

    package func audit(
        before id: Int64?,
        limit: Int,
        _ answer: @escaping @Sendable (Result<[AuditRecord], QueueError>) -> Void
    ) {
        handle.post(.decision(.audit(before: id, limit: limit, answer)))
    }
}

// MARK: - Waiting logs

extension DurableQueue {
    package func list(
        _ wish: StreamWish,
        _ answer: @escaping @Sendable (StreamListing?) -> Void
    ) {
        handle.post(.list(StreamQuestion(wish: wish, answer: answer)))
    }

    package func oldestLogs(
        of destination: String,
        logstore: String?,
        limit: Int
    ) throws(QueueError) -> [QueuedLog] {
        try handle.letters.withLock { reader throws(QueueError) in
            try reader.oldestLogs(of: destination, logstore: logstore, limit: limit)
        }
    }
}
