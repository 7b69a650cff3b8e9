import CommitLog
import Queue
import SQLiteQueue
import System

// Which shards this gateway takes, absorbs and loses.
extension FleetLoop {
    func decide() {
        let now = Moment.now
        guard !isCutOff, !keeper.opener.hasEnded else { return }
        absorbEmptied()
        // A home shard that was lost is open here until there is another one.
        let orphans = watch.orphans(now).filter { name in
            own.shards[name] == nil && fleet.openShard(named: name) == nil && gone[name] == nil
        }
        plan.update(orphans, among: watch.shardsOfLate, now)
        for name in orphans where plan.isNew(name) {
            if let reason = reasonAgainst(name) {
                refuse(name, reason, for: timing.retry)
            } else {
                plan.schedule(name, after: fleet.adopted.count, now)
            }
        }
        if mayBegin, let name = plan.takeDue(now) { begin(name) }
    }

    var mayBegin: Bool {
        job == nil && !isCutOff && fleet.adopted.count < Self.adoptedMax
    }

    /// Each takes a thread, memory and room on the disk.
    private static let adoptedMax = 16

    /// Why this gateway does not try to adopt an orphan; nil: it does.
    private func reasonAgainst(_ orphan: String) -> String? {
        guard fleet.adopted.count < Self.adoptedMax else {
            return "this gateway has adopted \(Self.adoptedMax) shards already"
        }
        return watch.lastOwner(of: orphan)?.clusterMismatch(with: own).map { reason in
            "its last gateway may be of another cluster with the same name: \(reason)"
        }
    }

    private func refuse(_ name: String, _ reason: String, for time: Duration) {
        plan.holdOff(name, for: time, .now)
        let isNew = fleet.refuse(name, reason)
        guard isNew else { return }
        journal.error("shard cannot be adopted", ["shard": name, "reason": reason])
    }

    /// Becomes a candidate for the shard, and reads its log if no other gateway was before.
    private func begin(_ name: String) {
        var isBegun = false
        do throws(CommitLogError) {
            // Most of many rivals come too late, and need not tell anything.
            try look()
            if watch.orphans(.now).contains(name) {
                job = .candidate(name)
                nextHeartbeat = .now
                if let attempt = try attempt(name) {
                    isBegun = keeper.adopt(attempt, knownTo: watch.lastEntry(of: name))
                }
            }
        } catch {
            // The next look is soon.
        }
        guard isBegun else { return job = nil }
        fleet.change { $0.adopting = name }
        journal.info("orphaned shard is read to adopt it", ["shard": name])
    }

    /// nil: the owner is back, or another gateway has the shard or was before.
    private func attempt(_ name: String) throws(CommitLogError) -> AdoptionAttempt? {
        try tell()
        try look()
        try lookAtShards(besides: name)
        // A call that has failed may count later, and hide what was told now.
        guard let seen = ownAsSeen, seen.value == own.bytes,
            watch.mayRead(name, asCandidateAt: seen.revision, .now)
        else { return nil }
        let attempt = AdoptionAttempt(of: name, asCandidateAt: seen.revision)
        job = .adopting(attempt)
        try tell()
        // Revisions may be in another order than that in which registers are seen, and this gateway
        // may have stood still. Of two that both tell that they read, one sees the other.
        try look()
        return watch.isRead(name, .now) || watch.isOwned(name, .now) ? nil : attempt
    }

    private func absorbEmptied() {
        guard job == nil, !fleet.isHomeLost else { return }
        let home = fleet.home
        // After a crash, an absorption may have nothing left to do but to remove the log.
        for target in fleet.openShards {
            for (name, progress) in target.queue.absorptions where !plan.isHeldOff(name) {
                if progress == .done { return absorb(name, nil, into: target) }
                // Another gateway has or absorbed it. A list without it proves nothing: it may be
                // incomplete.
                let isElsewhere = gone[name] != nil || watch.isOwned(name, .now)
                if progress == .intended, own.shards[name] == nil, isElsewhere {
                    target.queue.forget(absorbed: name) { _ in }
                }
            }
        }
        for shard in fleet.adopted where !plan.isHeldOff(shard.name) {
            let status = shard.queue.status
            guard status.admission == .open, status.ledger.queued == 0, status.rows == 0,
                status.packets == 0, shard.queue.absorptions.isEmpty
            else { continue }
            if let target = shard.queue.cededTo.flatMap(fleet.openShard) {
                return absorb(shard.name, shard, into: target)
            }
            guard shard.queue.cededTo == nil else { continue }
            let homeStatus = home.queue.status
            // The home shard may open again in a moment.
            guard homeStatus.admission == .open else {
                plan.holdOff(shard.name, for: timing.retry, .now)
                continue
            }
            guard homeStatus.hasRoom(forLetters: status.bytes) else {
                plan.holdOff(shard.name, for: timing.retryMax, .now)
                journal.warning(
                    "dead letters of an adopted shard do not fit into the home shard; it stays until they do",
                    [
                        "shard": shard.name, "bytes": status.bytes,
                        "remedy":
                            "replay or purge dead letters, raise queue.max_bytes, or free disk space",
                    ]
                )
                continue
            }
            return absorb(shard.name, shard, into: home)
        }
    }

    private func absorb(_ name: String, _ shard: OwnedShard?, into target: OwnedShard) {
        if keeper.absorb(name, shard, into: target) { job = .absorbing(name) }
    }

    // MARK: - News

    func take(_ news: FleetKeeper.News) {
        switch news {
        case .lost(let shard, let name):
            // Late news may be about an earlier time with a shard that this gateway has again.
            if fleet.openShard(named: name)?.shard == shard { lose(name, to: nil) }
        case .adopted(let shard):
            job = nil
            plan.succeeded(shard.name)
            guard !keeper.opener.hasEnded else { return shard.queue.close() }
            let status = shard.queue.status
            journal.info("shard adopted", ["shard": shard.name, "queued": status.ledger.queued])
            let known = fleet.destinations
            for (name, destination) in status.destinations
            where destination.ledger.queued > 0 && !known.contains(name) {
                journal.warning(
                    "logs wait for a destination that is not in the configuration; add it to deliver them",
                    ["destination": name, "queued": destination.ledger.queued, "shard": shard.name]
                )
            }
            fleet.adopt(shard)
            fleet.change { figures in
                figures.adoptions += 1
                figures.adopting = nil
            }
            nextHeartbeat = .now
        case .ceded(let name, let target):
            job = nil
            fleet.change { $0.adopting = nil }
            if let open = fleet.openShard(named: target) { return absorb(name, nil, into: open) }
            // The owner of the target finishes that.
            guard !watch.shardsOfLate.contains(target) else {
                return plan.holdOff(name, for: timing.retry * 2, .now)
            }
            let reason =
                TakenQueue.isMove(target)
                ? "sluice restore --take moves it; run that again with the same directory"
                : "it belongs to the shard \(target), which is not there"
            refuse(name, reason, for: plan.failed(name))
        case .notAdopted(let name, let problem):
            job = nil
            fleet.change { $0.adopting = nil }
            switch problem.kind {
            case .missing, .fenced: plan.holdOff(name, for: timing.heartbeat * 2, .now)
            case .unreachable: plan.holdOff(name, for: timing.heartbeat, .now)
            case .noRoom, .refused, .damaged, .newer:
                refuse(name, problem.description, for: plan.failed(name))
            }
        case .absorbed(let name, let end): absorbed(name, end)
        case .homeReplaced, .homeRecovered:
            newHome = nil
            failingSince = nil
            nextHeartbeat = .now
            // It may have been lost at the same moment.
            if fleet.isHomeLost { replaceHome() }
        case .newHomeTaken:
            newHome = nil
            replaceHome()
        case .stop: isStopping = true
        }
    }

    private func absorbed(_ name: String, _ end: AbsorptionEnd) {
        job = nil
        fleet.absorptionEnded()
        switch end {
        case .done:
            fleet.drop(name)
            fleet.change { figures in
                figures.absorptions += 1
                figures.unattended.remove(name)
            }
            journal.info("emptied shard absorbed", ["shard": name])
            nextHeartbeat = .now
        case .notBegun: plan.holdOff(name, for: timing.heartbeat, .now)
        case .cutOff(let reason):
            // It is adopted again, and its absorption gone on with.
            fleet.drop(name)
            plan.holdOff(name, for: timing.retry, .now)
            journal.warning(
                "shard is not absorbed yet",
                ["shard": name, "reason": reason]
            )
        }
    }

    /// Called after the cluster was reached, so that what fails is the home shard alone.
    func replaceFailingHome(_ now: Moment) {
        guard fleet.isHomeUnusable else {
            failingSince = nil
            hasToldOfLimit = false
            return fleet.setHomeFailing(false)
        }
        let since = failingSince ?? now
        failingSince = since
        // Brokers may elect for so long.
        fleet.setHomeFailing(now - since >= timing.deadAfter)
        let isDue = now - since >= timing.replaceAfter && newHome == nil && !fleet.isHomeLost
        guard isDue else { return }
        let home = fleet.home
        let former = fleet.adopted.filter { ShardName.node(of: $0.name) == own.node }.map(\.name)
        guard former.count < Self.formerHomesMax else {
            if !hasToldOfLimit {
                journal.error(
                    "the home shard cannot be written, and is not replaced, because former ones are not empty "
                        + "yet; repair their logs",
                    ["shard": home.name, "former": former.joined(separator: " ")]
                )
            }
            return hasToldOfLimit = true
        }
        journal.error(
            "the home shard cannot be written although the cluster can be reached; another one takes its place",
            [
                "shard": home.name, "reason": home.queue.status.problem?.description ?? "",
                "remedy": "repair its log; the shard is emptied when it can be written again",
            ]
        )
        replaceHome()
    }

    /// Each keeps its room on the servers until it is empty.
    private static let formerHomesMax = 2

    private func replaceHome() {
        guard newHome == nil else { return }
        let name = ShardName.new(for: own.node)
        guard keeper.replaceHome(by: name) else { return }
        newHome = name
        // The others must not take it for an orphan.
        nextHeartbeat = .now
    }

    func lose(_ name: String, to successor: String?) {
        let node = successor ?? "unknown yet"
        if fleet.loseHome(name) {
            journal.error(
                "another gateway has taken the home shard",
                ["shard": name, "node": node]
            )
            replaceHome()
        } else if let shard = fleet.drop(name) {
            journal.warning(
                "another gateway has taken an adopted shard",
                ["shard": name, "node": node]
            )
            keeper.close(shard)
        } else {
            return
        }
        fleet.change { $0.losses += 1 }
    }
}

extension QueueStatus {
    /// Dead letters of others must not fill the home shard; they wait until there is room.
    fileprivate func hasRoom(forLetters added: Int) -> Bool {
        added == 0 || bytes + added <= bytesMax / 8 * 7 && freeBytes > 2 * added
    }
}
