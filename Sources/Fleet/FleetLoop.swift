import CommitLog
import Queue
import SQLiteQueue
import System

/// Tells the others that this gateway lives, looks at them, and decides which shards it takes.
final class FleetLoop {
    /// What the thread for adopted shards does with one of them.
    enum Job {
        /// Nothing yet: another gateway may have been before.
        case candidate(String)
        case adopting(AdoptionAttempt)
        case absorbing(String)

        var shard: String {
            switch self {
            case .candidate(let shard), .absorbing(let shard): shard
            case .adopting(let attempt): attempt.shard
            }
        }
    }

    let keeper: FleetKeeper
    /// What this gateway tells the others.
    var own: NodeRegister
    /// The same as the others saw it at the last look; nil: they did not.
    var ownAsSeen: Register?
    /// What it knows of them.
    var watch: ShardWatch
    var nextHeartbeat = Moment.now
    private var nextWholeList = Moment.now
    private var lastList: Moment?
    /// The cluster could not be reached at the last heartbeat.
    var isCutOff = false
    /// When another server is tried, if this one still does not answer.
    private var changesServerAt = Moment.now
    var isStopping = false
    var plan: AdoptionPlan
    /// nil: the thread has nothing to do.
    var job: Job?
    /// Shards that were absorbed, and when, as the registers tell.
    var gone: [String: WallTime] = [:]
    /// The shard that is made to replace the home; nil: none is.
    var newHome: String?
    /// Since when the home shard is lost or fails, while the cluster can be reached.
    var failingSince: Moment?
    /// It was told that a failing home shard is not replaced.
    var hasToldOfLimit = false
    private var others: Set<String> = []

    init(_ keeper: FleetKeeper, _ own: NodeRegister) {
        self.keeper = keeper
        self.own = own
        watch = ShardWatch(keeper.opener.settings.timing)
        plan = AdoptionPlan(keeper.opener.settings.timing)
        keeper.fleet.change { $0.node = own.node }
    }

    var fleet: ShardFleet { keeper.fleet }
    private var cluster: any ClusterEngine { keeper.opener.cluster }
    var timing: FleetTiming { keeper.opener.settings.timing }
    var journal: Journal { keeper.journal }

    func run() {
        while true {
            for news in keeper.mailbox.takeAll() { take(news) }
            if isStopping { break }
            if nextHeartbeat <= .now { beat() }
            decide()
            let next = mayBegin ? plan.next : nil
            let due = next.map { min($0, nextHeartbeat) } ?? nextHeartbeat
            keeper.wake.wait(timeout: max(due - .now, .milliseconds(10)))
        }
        leave()
    }

    // MARK: - Telling and looking

    private func beat() {
        let began = Moment.now
        nextHeartbeat = began + timing.heartbeat
        do throws(CommitLogError) {
            try tell()
            try look()
            try cluster.confirm()
            // A gateway that reads the log of one of these shards may begin to deliver at any
            // moment.
            if !isContested { fleet.trust(until: began + timing.trustedFor) }
            if isCutOff { journal.info("cluster reached") }
            isCutOff = false
            fleet.change { $0.problem = nil }
            replaceFailingHome(began)
        } catch {
            guard !isCutOff else {
                // Longer than an election: this server may be cut off while another one is not.
                if .now >= changesServerAt {
                    changesServerAt = .now + timing.trustedFor
                    cluster.changeServer()
                }
                return
            }
            changesServerAt = .now + timing.trustedFor
            isCutOff = true
            // Others may take no logs either.
            failingSince = nil
            fleet.setHomeFailing(false)
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
            name != job?.shard && name != newHome && watch.isRead(name, .now)
        }
    }

    func tell() throws(CommitLogError) {
        describeShards()
        own.destinations = fleet.destinations.sorted()
        let status = fleet.status
        own.ledger = status.ledger
        own.problem = status.problem?.description
        try cluster.set(own.name, to: own.bytes)
    }

    private func describeShards() {
        let home = fleet.home
        let isHomeLost = fleet.isHomeLost
        own.home = isHomeLost ? nil : home.name
        own.shards = [:]
        if !isHomeLost { own.shards[home.name] = home.queue.epoch }
        for shard in fleet.adopted { own.shards[shard.name] = shard.queue.epoch }
        own.entries = fleet.lastEntries.filter { own.shards[$0.key] != nil }.mapValues { Int($0) }
        // The epoch is unknown before the log is read; no other takes this one for its successor.
        if let newHome, own.shards[newHome] == nil {
            own.shards[newHome] = NodeRegister.readingEpoch
        }
        guard let job, own.shards[job.shard] == nil else { return }
        if case .candidate = job {
            own.shards[job.shard] = NodeRegister.candidateEpoch
        } else {
            own.shards[job.shard] = NodeRegister.readingEpoch
        }
    }

    /// Looks at the registers: closes shards that another gateway has taken, and cancels an
    /// adoption that is another one's.
    func look() throws(CommitLogError) {
        var registers = try cluster.registers()
        ownAsSeen = registers.removeValue(forKey: own.name)
        if let key = registers[MessageSeal.register]?.value {
            fleet.messages.use(key: key)
        } else if let key = fleet.messages.key {
            // Brokers drop the oldest register when there are too many.
            try cluster.set(MessageSeal.register, to: key)
        }
        watch.look(at: registers, .now)
        watch.note(fleet.messages.takeToldEntries(), .now)
        fleet.messages.use(size: watch.living(.now).count + 1)
        gone = ShardDirectories.gone(registers)
        watch.forget(gone.keys)
        for (name, epoch) in own.shards where name != job?.shard && name != newHome {
            if let successor = watch.successor(of: epoch, in: name) {
                lose(name, to: successor.node)
            } else if gone[name] != nil || fleet.openShard(named: name)?.queue.isLost ?? false {
                // Another gateway has it, or has even delivered all of it.
                lose(name, to: nil)
            }
        }
        if case .adopting(let attempt)? = job,
            watch.mustCancel(attempt, of: own, .now)
        {
            attempt.cancel()
        }
    }

    /// Lists all shards. In a large fleet most lists have only the shards whose owners were not
    /// heard of lately, and `shard`: servers ask the leader of each log that is listed.
    func lookAtShards(besides shard: String? = nil) throws(CommitLogError) {
        let began = Moment.now
        let doubtful = watch.doubtful(began).subtracting(own.ownedShards)
            .subtracting(gone.keys)
        let asked = doubtful.union(shard.map { [$0] } ?? [])
        let size = watch.living(began).count + 1
        let isWhole =
            began >= nextWholeList || lastList.map { began - $0 > timing.gap } ?? true
            || asked.count > max(2, size / Self.gatewaysOfDoubt)
        let shards = isWhole ? try cluster.shards() : try cluster.shards(named: asked)
        // What the servers tell of a shard that may be an orphan must last.
        if !asked.isEmpty { try cluster.confirm() }
        let now = Moment.now
        lastList = now
        watch.look(at: ShardList(shards: shards, asked: isWhole ? nil : asked), now)
        if isWhole {
            // A log without a leader was left out, and the next list may have it.
            let isComplete = watch.shardsOfLate.isSubset(of: watch.shards)
            let beats = isComplete ? size / Self.gatewaysListing : 0
            nextWholeList = began + timing.heartbeat * max(0, Double(beats) - 0.5)
        }
        announceGateways(now)
        showFigures(now, hasLooked: isWhole)
        try removeOldRegisters(now)
    }

    /// So many gateways list all shards at each heartbeat, and no more in a larger fleet.
    private static let gatewaysListing = 5
    /// One shard in doubt for so many gateways is listed alone.
    private static let gatewaysOfDoubt = 20

    /// Some of each kind at a look.
    private func removeOldRegisters(_ now: Moment) throws(CommitLogError) {
        let leftovers = watch.leftovers(now).prefix(Self.removedAtOnce)
        for name in leftovers { try cluster.set(name, to: nil) }
        for shard in ShardDirectories.outdated(gone).prefix(Self.removedAtOnce) {
            try cluster.set(ShardDirectories.goneRegister(of: shard), to: nil)
        }
    }

    /// Each takes a way to the servers and back.
    private static let removedAtOnce = 8

    private func announceGateways(_ now: Moment) {
        let living = watch.namesSeenAlive(now)
        let newcomers = living.subtracting(others)
        for node in newcomers {
            journal.info("another gateway of the cluster is there", ["node": node])
            if node == own.node {
                journal.error(
                    "two gateways have one name; set queue.jetstream.node (or queue.postgresql.node) of one of them to "
                        + "another one",
                    ["node": node]
                )
            }
        }
        for (register, isAlive) in known(now) where isAlive && newcomers.contains(register.node) {
            if let reason = own.clusterMismatch(with: register) {
                journal.error(
                    "a gateway of another cluster has the same cluster name; set queue.jetstream.cluster (or "
                        + "queue.postgresql.cluster) of one of them to another one",
                    ["node": register.node, "reason": reason]
                )
            }
            if let reason = own.durabilityMismatch(with: register) {
                journal.warning(
                    "the gateways of the cluster do not keep logs alike; set queue.durability, and replicas or "
                        + "copies, of all to the same",
                    ["node": register.node, "reason": reason]
                )
            }
        }
        for node in others.subtracting(living) {
            journal.warning("another gateway of the cluster is gone", ["node": node])
        }
        others = living
    }

    /// The others, but for those whose shards are all open here. A shard that is only read to adopt
    /// it is not in this gateway's ledger yet.
    private func known(_ now: Moment) -> [(register: NodeRegister, isAlive: Bool)] {
        watch.known(besides: Set(fleet.openShards.map(\.name)), now)
    }

    private func showFigures(_ now: Moment, hasLooked: Bool) {
        let known = known(now)
        let mine = Set(own.shards.keys)
        let orphans = watch.orphans(now).filter { !mine.contains($0) && gone[$0] == nil }
        let unattended = watch.shardsOfLate.subtracting(fleet.letterShards).filter { shard in
            gone[shard] == nil && !watch.isOwned(shard, now)
        }
        fleet.change { figures in
            figures.others = known.map { register, isAlive in
                FleetStatus.Node(
                    name: register.node,
                    version: register.version,
                    isAlive: isAlive,
                    shards: register.shards.keys.sorted(),
                    ledger: register.ledger,
                    problem: register.problem
                )
            }
            figures.shardsOfCluster = watch.shards.count
            figures.orphans = orphans
            figures.hasLooked = figures.hasLooked || hasLooked
            figures.unattended = unattended
            // While another gateway tries to read one, it is no orphan.
            figures.refusedOrphans = figures.refusedOrphans.filter { unattended.contains($0.key) }
        }
    }

    /// A gateway that comes back gets its home shard first; what it had adopted is free.
    private func leave() {
        // It may stop before its first heartbeat, and its next life looks for its home by this.
        if own.shards.isEmpty { describeShards() }
        own.isStopped = true
        do throws(CommitLogError) {
            try cluster.set(own.name, to: own.bytes)
        } catch {
            // The others notice it by their own clocks.
        }
    }
}
