import Queue
import System

// The queue's state for other threads: its admission and its status.
extension QueueOwner {
    /// Publishes the changed destinations after a commit, or all if the change concerns all.
    func publish(everything: Bool = false) {
        let admissions = admissions
        guard let store else {
            isSlow = false
            handle.setAdmissions(Admissions(queue: admissions.queue))
            return handle.status.withLock { show(admissions.queue, in: &$0) }
        }
        let isNew = board.change(admissions)
        if isSlow { journal.info("commit log answers again") }
        let isAll = everything || store.destinations.dirty.isUnpublished || isNew || isSlow
        isSlow = false
        let changed = isAll ? Array(store.destinations.all) : store.destinations.dirty.changed
        for destination in changed { destination.publishLogstores() }
        if isAll {
            handle.setAdmissions(Admissions(admissions, everyAdmission(in: store)))
        } else {
            handle.changeAdmissions(
                admissions,
                changed.map { ($0.name, store.weight.admission(of: $0)) }
            )
        }
        announcer.announce(
            admissions.queue,
            bytes: store.weight.bytes,
            freeBytes: keeper.room.freeBytes,
            configuration
        )
        let shown = changed.map { destination in
            let admission = store.weight.admission(of: destination).bytes(admissions)
            announcer.announce(admission, of: destination)
            return (destination.name, show(destination, admission))
        }
        handle.status.withLock { status in
            show(admissions.queue, in: &status)
            show(store, in: &status)
            if isAll {
                status.destinations = Dictionary(uniqueKeysWithValues: shown)
            } else {
                for (name, destination) in shown { status.destinations[name] = destination }
            }
        }
        store.destinations.dirty.published()
    }

    // MARK: - Admission

    /// The queue's answer to all batches.
    private var admissions: QueueAdmissions {
        let queue = admission
        let whereRoomIsMade = queue == .full ? store?.weight.admissionWhereRoomIsMade : nil
        return QueueAdmissions(queue: queue, whereRoomIsMade: whereRoomIsMade ?? queue)
    }

    private var admission: QueueAdmission {
        if isStopping { return .stopping }
        guard let store else {
            switch keeper.failures.problem?.kind {
            case .diskFull, .commitLogFull: return .diskFull
            default: return .failing
            }
        }
        if keeper.room.isUsedUp(configuration.tuning) || keeper.isCommitLogNearlyFull {
            return .diskFull
        }
        return store.weight.admission
    }

    /// The answer to each destination, including those without content.
    private func everyAdmission(in store: OpenStore) -> [String: DestinationAdmission] {
        var all: [String: DestinationAdmission] = [:]
        for destination in store.destinations.all {
            all[destination.name] = store.weight.admission(of: destination)
        }
        for (name, rules) in configuration.destinations where all[name] == nil {
            all[name] = DestinationAdmission(
                makesRoom: rules.overflow == .dropOldest,
                logstores: PublishedLogstores(LogstoreBook(most: rules.logstoresMax))
            )
        }
        return all
    }

    // MARK: - Status

    private func show(_ admission: QueueAdmission, in status: inout QueueStatus) {
        status.admission = admission
        status.problem = store == nil ? keeper.failures.problem : keeper.problemOfFullLog
        status.bytesMax = configuration.bytesMax
        status.freeBytes = keeper.room.freeBytes
        status.failures = keeper.failures.count
        status.repairedLogs = keeper.repairedLogs
        let salvager = keeper.salvager
        status.salvages = salvager.counts.salvages
        status.salvagedLogs = salvager.counts.savedLogs
        status.lostLogs = salvager.counts.lostLogs + board.lostLogs
        status.damagedCopies = salvager.copies.count
        status.unsavedCopyBytes = salvager.copies.unsavedBytes
        status.damagedCopiesRemoved = salvager.copies.deletedCount
        status.relanes = delivery.relaneCount
        status.isolations = delivery.isolations.doneCount
        status.isolationsWaiting = delivery.isolations.count
        status.commitLog = keeper.shardLog?.status
        board.show(in: &status)
    }

    /// While the store is closed, its last state stays.
    private func show(_ store: OpenStore, in status: inout QueueStatus) {
        status.bytes = store.weight.bytes
        status.asideLogs = Int(store.acknowledgements.remainders.reduce(0) { $0 + $1.logs })
        status.rows = store.weight.rows
        status.intake = store.tally.sums
        status.streams = store.streams.busyCount
        status.repeats.known = store.repeats.count
        status.packets = store.packets.count
        status.recentBytes = store.recent.bytes
        status.logBytes = store.files.logBytes
        status.databaseBytes = store.files.databaseBytes
        if let sums = store.letters.takeChangedSums() { status.deadLetters = sums }
    }

    private func show(
        _ destination: QueuedDestination,
        _ admission: QueueAdmission
    ) -> QueueStatus.Destination {
        let name = destination.name
        var shown = QueueStatus.Destination()
        shown.ledger = destination.ledger
        board.show(destination, in: &shown)
        shown.demand = delivery.outlets.demand.totals[name] ?? 0
        shown.packets = destination.packetCount
        shown.deadBytes = destination.deadBytes
        let refused = delivery.discards.sum(of: name)
        shown.refusedLogs = refused?.logs ?? 0
        shown.lastRefusal = refused?.last
        shown.imbalance = announcer.imbalances.first { $0.destination == name }?.logs ?? 0
        shown.bytes = destination.bytes
        shown.bytesMax = destination.rules.bytesMax
        shown.admission = admission
        shown.logstores = destination.logstores.busy.count
        shown.lanes = destination.rules.lanes
        shown.logstoresMax = destination.rules.logstoresMax
        return shown
    }
}

/// The counts since the start, and the state that was published last.
struct StatusBoard {
    private var commits = QueueStatus.Commits()
    /// Commits at the last housekeeping.
    private var commitsBefore = 0
    var checkpoints = 0
    /// Logs that changed on the disk, without those that salvages lost.
    var lostLogs = 0
    var ledgerImbalances = 0
    private var streamRefusals = StreamRefusals()
    private var repeats = QueueStatus.Repeats()
    private var destinations: [String: Counts] = [:]
    var survey: [String: Survey] = [:]
    private var admissions = QueueAdmissions(queue: .open, whereRoomIsMade: .open)

    private struct Counts {
        var dropped = 0
        var volumes = Volumes()
    }

    mutating func committed(
        in time: Duration,
        because reason: CommitReason,
        requests: Int,
        rows: Int
    ) {
        commits.count += 1
        commits.byReason[reason] += 1
        commits.requests += requests
        commits.rows += rows
        commits.time += time
        commits.timeMax = max(commits.timeMax, time)
    }

    /// Returns true if nothing was committed since the last call.
    mutating func takeIdle() -> Bool {
        defer { commitsBefore = commits.count }
        return commits.count == commitsBefore
    }

    /// Called after a commit. Also counts requests that the store forgot before their age.
    mutating func countRepeats(_ repeated: Int, in store: OpenStore) {
        repeats.repeated += repeated
        repeats.forgottenEarly += store.repeats.takeForgottenEarly()
    }

    mutating func count(dropped logs: [Overflowed: Int]) {
        for (overflowed, count) in logs {
            destinations[overflowed.destination, default: Counts()].dropped += count
        }
    }

    /// Returns false if the refusal had another reason than streams.
    mutating func count(streamRefusal refusal: QueueAdmission) -> Bool {
        switch refusal {
        case .tooManyStreams: streamRefusals.queue += 1
        case .tooManyStreamsOfDestination: streamRefusals.destination += 1
        case .tooManyStreamsOfSender: streamRefusals.sender += 1
        default: return false
        }
        return true
    }

    /// Returns true if the answer to all batches has changed.
    mutating func change(_ new: QueueAdmissions) -> Bool {
        defer { admissions = new }
        return new != admissions
    }

    func show(in status: inout QueueStatus) {
        status.commits = commits
        status.checkpoints = checkpoints
        status.streamRefusals = streamRefusals
        status.repeats.repeated = repeats.repeated
        status.repeats.forgottenEarly = repeats.forgottenEarly
        status.ledgerImbalances = ledgerImbalances
    }

    mutating func show(_ destination: QueuedDestination, in shown: inout QueueStatus.Destination) {
        let name = destination.name
        // The values are committed by now, so they are added to the counts that outlive the store.
        destinations[name, default: Counts()].volumes += destination.volumes
        destination.volumes = Volumes()
        shown.volumes = destinations[name]?.volumes ?? Volumes()
        shown.dropped = destinations[name]?.dropped ?? 0
        shown.oldest = destination.ledger.queued > 0 ? survey[name]?.oldest : nil
        shown.outlets = survey[name]?.outlets ?? [:]
    }
}
