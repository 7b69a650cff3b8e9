package import CommitLog
import Queue
import SQLiteQueue
package import System

/// Joins a cluster: opens the home shard of this gateway.
package final class FleetOpening: Sendable {
    private let settings: FleetSettings
    private let opener: ShardOpener
    private let control: ControlLog
    private let lock: DirectoryLock
    private let journal: Journal
    /// When the servers gave their first list of shards; nil: not yet.
    private let firstListed = Locked<Moment?>(nil)
    /// Home shards that cannot be opened although the cluster can be reached, and since when.
    private let failing = Locked<[String: Moment]>([:])
    /// Home shards in whose place another one was begun. Each keeps its room on the servers.
    private let givenUp = Locked<Set<String>>([])
    private static let givenUpMax = 2
    /// When another server is tried, if this one is of no use; nil: it has not failed yet.
    private let leavesServerAt = Locked<Moment?>(nil)
    /// Tells this life of the gateway from others.
    private let life = hex(randomBytes(4))

    package init(
        _ settings: FleetSettings,
        _ cluster: any ClusterEngine,
        _ journal: Journal
    ) throws(CommitLogError) {
        self.settings = settings
        self.journal = journal
        lock = try CommitLogError.onQueue(.refused) { () throws(QueueError) in
            try DirectoryLock(settings.directory)
        }
        (opener, control) = try CommitLogError.onSystem(.refused) { () throws(SystemError) in
            let control = try ControlLog(
                cluster.control,
                node: settings.node,
                patience: settings.queue.commitRetries.timeout,
                journal
            )
            return (try ShardOpener(settings, cluster, journal), control)
        }
    }

    /// May be tried again if the engine cannot be reached, has no room, or let another gateway take
    /// the shard.
    package func open() throws(CommitLogError) -> ShardFleet {
        let messages = try startMessages()
        do throws(CommitLogError) {
            return try open(messages)
        } catch {
            messages.stop()
            if error.kind == .unreachable { leaveServer() }
            throw error
        }
    }

    /// After some time without success: another server may be one that takes commits.
    private func leaveServer() {
        let leaves = leavesServerAt.withLock { moment in
            let due = moment ?? .now + settings.timing.trustedFor
            let leaves = due <= .now
            moment = leaves ? .now + settings.timing.trustedFor : due
            return leaves
        }
        if leaves { opener.cluster.changeServer() }
    }

    private func open(_ messages: FleetMessages) throws(CommitLogError) -> ShardFleet {
        // If this attempt does not come as far as to a shard, the cluster is what fails.
        let failing = failing.withLock { failing in
            defer { failing = [:] }
            return failing
        }
        try opener.cluster.open()
        var own = NodeRegister(node: settings.node, life: life)
        own.keyFingerprint = settings.keyFingerprint
        own.durability = opener.cluster.durability
        do throws(CommitLogError) {
            return try join(own, messages, failing)
        } catch {
            // The next start has another life, and would leave another register.
            if error.kind != .unreachable { try? opener.cluster.set(own.name, to: nil) }
            throw error
        }
    }

    private func join(
        _ own: NodeRegister,
        _ messages: FleetMessages,
        _ failing: [String: Moment]
    ) throws(CommitLogError) -> ShardFleet {
        let began = Moment.now
        let cluster = opener.cluster
        // Ours first: reads are no older than a gateway's own last register, so those below are
        // fresh.
        try cluster.set(own.name, to: own.bytes)
        let (shards, registers) = (try cluster.shards(), try cluster.registers())
        try useKey(registers, messages)
        let choice = HomeChoice(for: settings.node, among: shards, registers)
        let namesakes = choice.namesakes(of: own)
        try checkName(own, namesakes, messages)
        messages.takeName()
        for namesake in namesakes where namesake.tellsNothing {
            try cluster.set(namesake.name, to: nil)
        }
        try checkList(shards, registers, choice)
        try ShardDirectories(settings).clean(shards, registers, cluster)
        try control.open()
        // The home shard may be lost before there is a keeper to be told.
        let losses = Losses()
        let claim = try CommitLogError.onSystem(.refused) { () throws(SystemError) in
            try ShardClaim(own, cluster, every: settings.timing.heartbeat)
        }
        defer { claim.stop() }
        let home = try openHome(by: choice, failing) { name throws(CommitLogError) in
            try claim.claim(name)
            let after = HomeChoice(for: own.node, among: shards, try cluster.registers())
            return after.isFirst(own.name, toClaim: name)
        } whenLost: {
            losses.note()
        }
        claim.stop()
        remove(namesakes, besides: home.name, among: choice)
        let fleet = ShardFleet(
            home,
            control,
            messages,
            rules: settings.queue.destinations,
            trustedUntil: began + settings.timing.trustedFor
        )
        do throws(SystemError) {
            let keeper = try FleetKeeper(opener, fleet, own, holding: lock)
            fleet.keep(by: keeper)
            losses.tell(keeper.whenLost(.home, home.name))
            messages.tellEntries { [weak fleet] in fleet?.lastEntries ?? [:] }
        } catch {
            home.queue.close()
            throw .refused(error.description)
        }
        return fleet
    }

    /// The first gateway of a cluster makes the key of its messages. Of two that do so at once all
    /// learn the later one with their next look.
    private func useKey(
        _ registers: [String: Register],
        _ messages: FleetMessages
    ) throws(CommitLogError) {
        if let key = registers[MessageSeal.register]?.value { return messages.use(key: key) }
        let key = MessageSeal.newKey()
        try opener.cluster.set(MessageSeal.register, to: key)
        messages.use(key: key)
    }

    /// Begins another shard if the former one could not be opened for some time, as `failing`
    /// tells: a log may not be writable for hours, and its shard is adopted when it is.
    private func openHome(
        by choice: HomeChoice,
        _ failing: [String: Moment],
        claim: (String) throws(CommitLogError) -> Bool,
        whenLost: @escaping @Sendable () -> Void
    ) throws(CommitLogError) -> OwnedShard {
        let given = failing.filter { .now - $0.value >= settings.timing.replaceAfter }
            .sorted { $0.value < $1.value }.prefix(Self.givenUpMax)
        for (shard, _) in given where givenUp.withLock({ $0.insert(shard).inserted }) {
            journal.error(
                "the home shard cannot be opened although the cluster can be reached; another one "
                    + "takes its place",
                ["shard": shard, "remedy": "repair its log; a gateway then adopts the shard"]
            )
        }
        var claimed: String?
        do throws(CommitLogError) {
            return try opener.openHome(
                by: choice,
                besides: Set(given.map(\.key)),
                claim: { name throws(CommitLogError) in
                    guard try claim(name) else { return false }
                    claimed = name
                    return true
                },
                whenLost: whenLost
            )
        } catch {
            // The disk here may be what has no room.
            let isLogFull =
                error.kind == .noRoom
                && DiskSpace.free(in: settings.directory) > settings.queue.freeBytesMin
            if let claimed, error.kind == .unreachable || isLogFull {
                let since = failing[claimed] ?? .now
                self.failing.withLock { failing in
                    failing = [claimed: since]
                    for (shard, since) in given { failing[shard] = since }
                }
            }
            throw error
        }
    }

    /// A second gateway of this name would take its shard: tries again until the first has ended.
    private func checkName(
        _ own: NodeRegister,
        _ namesakes: [NodeRegister],
        _ messages: FleetMessages
    ) throws(CommitLogError) {
        guard namesakes.contains(where: { !$0.isStopped }),
            !messages.call([own.node]).isEmpty
        else { return }
        try opener.cluster.set(own.name, to: nil)
        throw .unreachable(
            "another gateway of the cluster has the name \(own.node); set queue.jetstream.node "
                + "(or queue.postgresql.node) of one of them to another name"
        )
    }

    /// Brokers that elect may not list all shards: throws for some time if one is missing.
    private func checkList(
        _ shards: [ListedShard],
        _ registers: [String: Register],
        _ choice: HomeChoice
    ) throws(CommitLogError) {
        let first = firstListed.withLock { first in
            first = first ?? .now
            return first ?? .now
        }
        let patience = settings.timing.unlisted
        let directories = ShardDirectories(settings)
        guard .now - first < patience,
            let missing = choice.unlisted ?? directories.unlisted(shards, registers)
        else { return }
        throw .unreachable(
            "the servers do not list the shard \(missing), which this gateway had; it waits for them for "
                + "\(patience.components.seconds) s"
        )
    }

    /// Removes the registers of earlier lives of this gateway. They tell how far logs were, so they
    /// stay until the home shard is open, and those of other shards until these have another owner.
    /// A life that runs after all sets its own again.
    private func remove(_ namesakes: [NodeRegister], besides home: String, among choice: HomeChoice)
    {
        for namesake in namesakes
        where !namesake.tellsNothing
            && choice.mayForget(namesake, besides: home)
        {
            // If it fails, the next start does it.
            try? opener.cluster.set(namesake.name, to: nil)
        }
    }

    private func startMessages() throws(CommitLogError) -> FleetMessages {
        let messenger = try opener.cluster.messenger(for: settings.node, journal)
        let messages = try CommitLogError.onSystem(.refused) { () throws(SystemError) in
            try FleetMessages(
                messenger,
                node: settings.node,
                life: life,
                keyFingerprint: settings.keyFingerprint,
                repeatsMax: settings.queue.repeatsMax,
                repeatsAgeMax: settings.queue.repeatsAgeMax
            )
        }
        try messages.start()
        return messages
    }
}

/// Passes on that the home shard was lost, even if that was before there was anything to be told.
private final class Losses: Sendable {
    private let state = Locked<(isLost: Bool, tell: (@Sendable () -> Void)?)>((false, nil))

    func note() {
        let tell = state.withLock { state in
            state.isLost = true
            return state.tell
        }
        tell?()
    }

    func tell(_ body: @escaping @Sendable () -> Void) {
        let isLost = state.withLock { state in
            state.tell = body
            return state.isLost
        }
        if isLost { body() }
    }
}
