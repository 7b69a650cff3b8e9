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
}

extension QueueOwner {
    private var admission: QueueAdmission {
        if isStopping { return .stopping }
        guard let store else { return problem?.kind == .diskFull ? .diskFull : .failing }
        if roomBytes < configuration.tuning.rowBytes { return .diskFull }
        // A little before the bound, where only small batches would still fit.
        let margin = min(configuration.tuning.rowBytes, configuration.bytesMax / 16)
        return store.bytes + margin > configuration.bytesMax ? .full : .open
    }

    /// Shows the state after a commit to everybody.
    func publish() {
        let admission = admission
        door.setAdmission(admission)
        announce(admission)
        let isClosed = store == nil
        door.status.withLock { status in
            status.admission = admission
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
            // While the store is closed its last state stands.
            guard let store else { return }
            status.bytes = store.bytes
            status.rows = store.rows
            status.streams = store.busyStreams
            status.packets = store.packets.count
            status.recentBytes = store.recent.bytes
            status.logBytes = store.logBytes
            status.databaseBytes = store.databaseBytes
            for (name, destination) in store.destinations {
                var shown = QueueStatus.Destination()
                shown.ledger = destination.ledger
                shown.oldest = destination.ledger.queued > 0 ? oldest[name] : nil
                shown.demand = demand.totals[name] ?? 0
                shown.packets = destination.packetCount
                status.destinations[name] = shown
            }
        }
    }
}
