import CommitLog
import Queue
import SQLiteQueue
import System

/// The thread that tells the others that this gateway lives, looks at them, and decides which shards it takes.
final class FleetLoop {
    private let keeper: FleetKeeper
    private var own: NodeRegister
    private var watch: ShardWatch
    private var nextTouch = Moment.now
    private var isCutOff = false
    private var isStopping = false
    /// When orphans are taken, by their names.
    private var plan: [String: Moment] = [:]
    /// Shards that are left alone until then.
    private var holdOffs: [String: Moment] = [:]
    /// How often each shard could not be adopted, one time after the other.
    private var failures: [String: Int] = [:]
    private var adopting: String?
    private var absorbing: String?
    /// Shards that were absorbed, and when, as the registers tell.
    private var gone: [String: WallTime] = [:]
    /// Home shards that this process has lost. It never chooses them again.
    private var lostHomes: Set<String> = []
    private var isHomeLost = false
    private var others: Set<String> = []

    init(_ keeper: FleetKeeper, _ own: NodeRegister) {
        self.keeper = keeper
        self.own = own
        watch = ShardWatch(keeper.opener.settings.timing)
        keeper.fleet.change { $0.node = own.node }
    }

    private var fleet: ShardFleet { keeper.fleet }
    private var cluster: any ShardCluster { keeper.opener.cluster }
    private var timing: FleetTiming { keeper.opener.settings.timing }
    private var journal: Journal { keeper.journal }

    func run() {
        while true {
            for news in keeper.mailbox.takeAll() { take(news) }
            if isStopping { break }
            if nextTouch <= .now { touch() }
            decide()
            let next = mayBegin ? plan.values.min() : nil
            let due = next.map { min($0, nextTouch) } ?? nextTouch
            keeper.wake.wait(timeout: max(due - .now, .milliseconds(10)))
        }
        leave()
    }

    // MARK: - Telling and looking

    private func touch() {
        let began = Moment.now
        nextTouch = began + timing.touch
        do throws(CommitLogError) {
            try tell()
            try look()
            try cluster.confirm()
            // While another gateway reads the log of one of these shards it may begin to deliver at any moment.
            if !isContested { fleet.trust(until: began + timing.trustedFor) }
            if isCutOff { journal.info("cluster reached") }
            isCutOff = false
            fleet.change { $0.problem = nil }
        } catch {
            guard !isCutOff else { return }
            isCutOff = true
            fleet.change { $0.problem = error.description }
            journal.warning("cluster cannot be reached", ["reason": error.description])
            return
        }
        do throws(CommitLogError) {
            try lookAtShards()
        } catch {
            // While brokers elect, shards may not be listed although registers can be read.
        }
    }

    private var isContested: Bool {
        own.shards.keys.contains { name in
            name != adopting && name != absorbing && watch.isRead(name, .now)
        }
    }

    private func tell() throws(CommitLogError) {
        let home = fleet.home
        own.home = isHomeLost ? nil : home.name
        own.shards = [:]
        if !isHomeLost { own.shards[home.name] = home.queue.epoch }
        for shard in fleet.adopted { own.shards[shard.name] = shard.queue.epoch }
        // The epoch is not known before the log is read; no other gateway takes this one for its successor.
        for name in [adopting, absorbing].compactMap(\.self) where own.shards[name] == nil {
            own.shards[name] = 0
        }
        own.destinations = fleet.destinations.sorted()
        let status = fleet.status
        own.ledger = status.ledger
        own.problem = status.problem?.description
        try cluster.set(own.name, to: own.bytes)
    }

    /// Finds out if another gateway has taken a shard.
    private func look() throws(CommitLogError) {
        var registers = try cluster.registers()
        registers[own.name] = nil
        watch.look(at: registers, .now)
        gone = ShardDirectories.gone(registers)
        for (name, epoch) in own.shards where name != adopting && name != absorbing {
            if let successor = watch.successor(of: epoch, in: name) {
                lose(name, to: successor.node)
            } else if gone[name] != nil || fleet.owned(name)?.queue.isLost ?? false {
                // Another gateway has it, or has even delivered all of it.
                lose(name, to: nil)
            }
        }
    }

    private func lookAtShards() throws(CommitLogError) {
        let now = Moment.now
        watch.look(at: try cluster.shards(), now)
        report(now)
        for name in watch.leftovers(now).prefix(1) { try cluster.set(name, to: nil) }
        let oldest = gone.min { $0.value < $1.value }
        if let oldest, WallTime.now - oldest.value > ShardDirectories.goneAge {
            try cluster.set(ShardDirectories.goneRegister(of: oldest.key), to: nil)
        }
    }

    private func report(_ now: Moment) {
        let living = watch.names(now)
        for node in living.subtracting(others) {
            journal.info("another gateway of the cluster is there", ["node": node])
            if node == own.node {
                journal.error(
                    "two gateways have one name; set a unique node for each in the group of queue.engine",
                    ["node": node]
                )
            }
        }
        for node in others.subtracting(living) {
            journal.warning("another gateway of the cluster is gone", ["node": node])
        }
        others = living
        let mine = Set(own.shards.keys)
        let orphans = watch.orphans(now).filter { !mine.contains($0) }
        fleet.change { figures in
            figures.others = watch.known(now).map { register, isAlive in
                FleetStatus.Node(
                    name: register.node,
                    version: register.version,
                    isAlive: isAlive,
                    shards: register.shards.keys.sorted(),
                    ledger: register.ledger,
                    problem: register.problem
                )
            }
            figures.shardsOfCluster = watch.shardCount
            figures.orphans = orphans
            figures.refusedOrphans = figures.refusedOrphans.filter { orphans.contains($0.key) }
        }
    }

    /// A gateway that comes back gets its home shard first; what it had adopted is free.
    private func leave() {
        own.isStopped = true
        do throws(CommitLogError) {
            try cluster.set(own.name, to: own.bytes)
        } catch {
            // The others notice it by their own clocks.
        }
    }

    // MARK: - Deciding

    private func decide() {
        let now = Moment.now
        guard !isCutOff, !keeper.opener.hasEnded else { return }
        absorbEmptied()
        holdOffs = holdOffs.filter { $0.value > now }
        let orphans = watch.orphans(now).filter { own.shards[$0] == nil && holdOffs[$0] == nil }
        plan = plan.filter { orphans.contains($0.key) }
        if fleet.adopted.count >= Self.adoptedMax {
            for name in orphans {
                refuse(
                    name,
                    "this gateway has adopted \(Self.adoptedMax) shards already",
                    for: timing.retry
                )
            }
        }
        for name in orphans where plan[name] == nil && holdOffs[name] == nil && mayAdopt(name) {
            let most = timing.rivalWait * (1 + fleet.adopted.count)
            plan[name] = now + most * Double.random(in: 0...1)
        }
        guard mayBegin, let next = plan.min(by: { $0.value < $1.value }), next.value <= now
        else { return }
        plan[next.key] = nil
        begin(next.key)
    }

    private var mayBegin: Bool {
        adopting == nil && absorbing == nil && !isCutOff && fleet.adopted.count < Self.adoptedMax
    }

    /// Each takes a thread, memory and room on the disk.
    private static let adoptedMax = 16

    private func mayAdopt(_ name: String) -> Bool {
        guard let reason = watch.lastOwner(of: name)?.foreignness(to: own) else { return true }
        refuse(
            name,
            "its last gateway may be of another cluster with the same name: \(reason)",
            for: .seconds(60)
        )
        return false
    }

    private func refuse(_ name: String, _ reason: String, for time: Duration) {
        holdOffs[name] = .now + time
        let isNew = fleet.refuse(name, reason)
        guard isNew else { return }
        journal.error("shard cannot be adopted", ["shard": name, "reason": reason])
    }

    /// Claims the shard, so that others leave it alone, and reads its log.
    private func begin(_ name: String) {
        adopting = name
        do throws(CommitLogError) {
            try tell()
            try look()
            try lookAtShards()
        } catch {
            adopting = nil
            return
        }
        // Its owner may be back. Of two that claim it at the same moment, one gives way. Whatever happens here, the fence
        // decides.
        let rivals = watch.claimants(of: name, .now)
        let isFirst = rivals.allSatisfy { $0.shards[name] == 0 && own.life < $0.life }
        guard isFirst, !rivals.isEmpty || watch.orphans(.now).contains(name), keeper.adopt(name)
        else {
            adopting = nil
            return
        }
        fleet.change { $0.adopting = name }
        journal.info("orphaned shard is read to adopt it", ["shard": name])
    }

    private func absorbEmptied() {
        guard absorbing == nil, adopting == nil, !isHomeLost else { return }
        let home = fleet.home
        // Of an absorption that a crash cut off, only the removal of the log may be left.
        let known =
            [home]
            + fleet.adopted.map { shard in
                ShardFleet.Home(name: shard.name, shard: shard.shard, queue: shard.queue)
            }
        for target in known {
            for (name, progress) in target.queue.absorptions where holdOffs[name] == nil {
                if progress == .done { return absorb(name, nil, into: target) }
                // Another gateway has it now, or has absorbed it. A list without it would not tell that.
                let isElsewhere = gone[name] != nil || watch.isOwned(name, .now)
                if progress == .intended, own.shards[name] == nil, isElsewhere {
                    target.queue.forget(absorbed: name) { _ in }
                }
            }
        }
        for shard in fleet.adopted where holdOffs[shard.name] == nil {
            let status = shard.queue.status
            guard status.admission == .open, status.ledger.queued == 0, status.rows == 0,
                status.packets == 0, shard.queue.absorptions.isEmpty
            else { continue }
            if let target = shard.queue.cededTo.flatMap(fleet.owned) {
                return absorb(shard.name, shard, into: target)
            }
            guard shard.queue.cededTo == nil else { continue }
            guard hasRoom(for: status, in: home.queue.status) else {
                holdOffs[shard.name] = .now + timing.retryMax
                journal.warning(
                    "dead letters of an adopted shard do not fit into the home shard; it stays until they do",
                    ["shard": shard.name, "bytes": status.bytes]
                )
                continue
            }
            return absorb(shard.name, shard, into: home)
        }
    }

    /// Dead letters of others must not fill the home shard. Until there is room they stay where they are.
    private func hasRoom(for status: QueueStatus, in home: QueueStatus) -> Bool {
        let bytes = status.bytes
        guard bytes > 0 else { return home.admission == .open }
        return home.admission == .open && home.bytes + bytes <= home.bytesMax / 8 * 7
            && home.freeBytes > 2 * bytes
    }

    private func absorb(_ name: String, _ shard: AdoptedShard?, into target: ShardFleet.Home) {
        if keeper.absorb(name, shard, into: target) { absorbing = name }
    }

    // MARK: - News

    private func take(_ news: FleetKeeper.News) {
        switch news {
        case .lost(let shard, let name):
            // Late news may be about an earlier time with a shard that this gateway has again.
            if fleet.owned(name)?.shard == shard { lose(name, to: nil) }
        case .adopted(let shard):
            adopting = nil
            failures[shard.name] = nil
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
            nextTouch = .now
        case .ceded(let name, let target):
            adopting = nil
            fleet.change { $0.adopting = nil }
            guard let target = fleet.owned(target) else {
                // Its owner finishes that.
                holdOffs[name] = .now + timing.retry * 2
                return
            }
            absorb(name, nil, into: target)
        case .notAdopted(let name, let problem):
            adopting = nil
            fleet.change { $0.adopting = nil }
            switch problem.kind {
            case .gone, .taken: holdOffs[name] = .now + timing.touch * 2
            case .passing: holdOffs[name] = .now + timing.touch
            case .noRoom, .lasting:
                // Each attempt reads the log.
                let count = failures[name, default: 0]
                failures[name] = min(count + 1, 10)
                let pause = min(timing.retry * (1 << count), timing.retryMax)
                refuse(name, problem.description, for: pause)
            }
        case .absorbed(let name, let end): absorbed(name, end)
        case .homeReplaced(let old):
            isHomeLost = false
            lostHomes.insert(old)
            nextTouch = .now
        case .stop: isStopping = true
        }
    }

    private func absorbed(_ name: String, _ end: AbsorptionEnd) {
        absorbing = nil
        fleet.absorptionEnded()
        switch end {
        case .done:
            fleet.dropShard(named: name)
            fleet.change { $0.absorptions += 1 }
            journal.info("emptied shard absorbed", ["shard": name])
            nextTouch = .now
        case .notBegun: holdOffs[name] = .now + timing.touch
        case .cutOff(let reason):
            // It is adopted again, and its absorption gone on with.
            fleet.dropShard(named: name)
            holdOffs[name] = .now + timing.retry
            journal.warning(
                "shard is not absorbed yet",
                ["shard": name, "reason": reason]
            )
        }
    }

    /// Another gateway has the shard.
    private func lose(_ name: String, to successor: String?) {
        let node = successor ?? "unknown yet"
        if name == fleet.home.name {
            guard !isHomeLost else { return }
            isHomeLost = true
            fleet.loseHome()
            lostHomes.insert(name)
            journal.error(
                "another gateway has taken the home shard",
                ["shard": name, "node": node]
            )
            _ = keeper.replaceHome(besides: lostHomes, own)
        } else if let shard = fleet.dropShard(named: name) {
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
