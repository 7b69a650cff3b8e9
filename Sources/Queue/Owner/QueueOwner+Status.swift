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
    var repairedLogs = 0
    var ledgerImbalances = 0
    /// Logs that an overflow dropped, by destination.
    var dropped: [String: Int] = [:]
    /// By destination.
    var volumes: [String: Volumes] = [:]
    var repeated = 0
    var forgottenEarly = 0
    var relanes = 0
}

extension QueueOwner {
    /// Shows the state after a commit to everybody.
    func publish() {
        let admissions = admissions()
        door.setAdmissions(admissions)
        announce(admissions)
        let isClosed = store == nil
        let destinations = destinations(admissions)
        door.status.withLock { status in
            status.admission = admissions.queue
            status.problem = isClosed ? problem : nil
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
            status.repairedLogs = counts.repairedLogs
            status.relanes = counts.relanes
            status.repeats.repeated = counts.repeated
            status.repeats.forgottenEarly = counts.forgottenEarly
            status.ledgerImbalances = counts.ledgerImbalances
            status.isolations = departures.isolationsDone
            status.isolationsWaiting = departures.isolationCount
            // While the store is closed its last state stands.
            guard let store else { return }
            status.bytes = store.bytes
            status.rows = store.rows
            status.streams = store.busyStreams
            status.repeats.known = store.repeats.count
            status.packets = store.packets.count
            status.recentBytes = store.recent.bytes
            status.logBytes = store.logBytes
            status.databaseBytes = store.databaseBytes
            status.destinations = destinations
            if store.deadSums.haveChanged {
                status.deadLetters = store.deadSums.sorted
                store.deadSums.haveChanged = false
            }
        }
    }

    /// What is new of it is true by now, so it is counted where it outlives the store.
    private func volumes(of destination: QueuedDestination) -> Volumes {
        counts.volumes[destination.name, default: Volumes()] += destination.volumes
        destination.volumes = Volumes()
        return counts.volumes[destination.name] ?? Volumes()
    }

    private func destinations(_ admissions: Admissions) -> [String: QueueStatus.Destination] {
        guard let store else { return [:] }
        return store.destinations.mapValues { destination in
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
            shown.admission = admissions.of(name)
            shown.logstores = destination.busyLogstores.count
            shown.lanes = destination.rules.lanes
            shown.logstoresMax = destination.rules.logstoresMax
            return shown
        }
    }
}
