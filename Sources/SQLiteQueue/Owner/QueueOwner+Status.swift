import Queue
import System

/// What happened since the start.
struct QueueCounts {
    var commits = 0
    var commitTime = Duration.zero
    var commitTimeMax = Duration.zero
    var checkpoints = 0
    var failures = 0
    var salvages = 0
    var salvagedLogs = 0
    var lostLogs = 0
    var damagedCopiesRemoved = 0
    var repairedLogs = 0
    var ledgerImbalances = 0
    /// Logs that an overflow dropped, by destination.
    var dropped: [String: Int] = [:]
    /// By destination.
    var volumes: [String: Volumes] = [:]
    var streamRefusals = StreamRefusals()
    var repeated = 0
    var forgottenEarly = 0
    var relanes = 0
}

extension QueueOwner {
    /// Shows the state after a commit to everybody: of destinations what changed, or all of it where something changed
    /// that concerns all.
    func publish(everything: Bool = false) {
        let admissions = admissions
        guard let store else {
            door.setAdmissions(Admissions(queue: admissions.queue))
            announce(admissions.queue)
            return door.status.withLock { showCounts(&$0, admissions.queue) }
        }
        let isAll = everything || store.dirty.isUnpublished || admissions != published
        published = admissions
        let changed = isAll ? Array(store.destinations.values) : store.dirty.changed
        for destination in changed { destination.publishLogstores() }
        if store.dirty.isUnpublished {
            door.setAdmissions(Admissions(admissions, everyAdmission(in: store)))
        } else {
            door.changeAdmissions(admissions, changed.map { ($0.name, store.admission(of: $0)) })
        }
        announce(admissions.queue)
        let shown = changed.map { destination in
            let admission = store.admission(of: destination).bytes(admissions)
            announce(destination.name, admission, destination)
            return (destination.name, show(destination, admission))
        }
        door.status.withLock { status in
            showCounts(&status, admissions.queue)
            show(store, &status)
            if isAll {
                status.destinations = Dictionary(uniqueKeysWithValues: shown)
            } else {
                for (name, destination) in shown { status.destinations[name] = destination }
            }
        }
        store.dirty.published()
    }

    private func showCounts(_ status: inout QueueStatus, _ admission: QueueAdmission) {
        status.admission = admission
        status.problem = store == nil ? problem : nil
        status.bytesMax = configuration.bytesMax
        status.freeBytes = disk.freeBytes
        status.commits = counts.commits
        status.commitTime = counts.commitTime
        status.commitTimeMax = counts.commitTimeMax
        status.checkpoints = counts.checkpoints
        status.failures = counts.failures
        status.salvages = counts.salvages
        status.salvagedLogs = counts.salvagedLogs
        status.lostLogs = counts.lostLogs
        status.damagedCopies = damagedCopies
        status.unsavedCopyBytes = unsavedCopies.bytes
        status.damagedCopiesRemoved = counts.damagedCopiesRemoved
        status.repairedLogs = counts.repairedLogs
        status.relanes = counts.relanes
        status.streamRefusals = counts.streamRefusals
        status.repeats.repeated = counts.repeated
        status.repeats.forgottenEarly = counts.forgottenEarly
        status.ledgerImbalances = counts.ledgerImbalances
        status.isolations = departures.isolationsDone
        status.isolationsWaiting = departures.isolationCount
    }

    /// While the store is closed its last state stands.
    private func show(_ store: OpenStore, _ status: inout QueueStatus) {
        status.bytes = store.bytes
        status.asideLogs = Int(store.remainders.reduce(0) { $0 + $1.logs })
        status.rows = store.rows
        status.streams = store.busyStreams
        status.repeats.known = store.repeats.count
        status.packets = store.packets.count
        status.recentBytes = store.recent.bytes
        status.logBytes = store.logBytes
        status.databaseBytes = store.databaseBytes
        if store.deadSums.haveChanged {
            status.deadLetters = store.deadSums.sorted
            store.deadSums.haveChanged = false
        }
    }

    /// What is new of it is true by now, so it is counted where it outlives the store.
    private func volumes(of destination: QueuedDestination) -> Volumes {
        counts.volumes[destination.name, default: Volumes()] += destination.volumes
        destination.volumes = Volumes()
        return counts.volumes[destination.name] ?? Volumes()
    }

    private func show(
        _ destination: QueuedDestination,
        _ admission: QueueAdmission
    ) -> QueueStatus.Destination {
        let name = destination.name
        var shown = QueueStatus.Destination()
        shown.ledger = destination.ledger
        shown.volumes = volumes(of: destination)
        shown.oldest = destination.ledger.queued > 0 ? survey[name]?.oldest : nil
        shown.outlets = survey[name]?.outlets ?? [:]
        shown.demand = demand.totals[name] ?? 0
        shown.packets = destination.packetCount
        shown.deadBytes = destination.deadBytes
        shown.refusedLogs = departures.discardsOf[name]?.logs ?? 0
        shown.lastRefusal = departures.discardsOf[name]?.last
        shown.imbalance = imbalances.first { $0.destination == name }?.logs ?? 0
        shown.bytes = destination.bytes
        shown.bytesMax = destination.rules.bytesMax
        shown.dropped = counts.dropped[name] ?? 0
        shown.admission = admission
        shown.logstores = destination.logstores.busy.count
        shown.lanes = destination.rules.lanes
        shown.logstoresMax = destination.rules.logstoresMax
        return shown
    }
}
