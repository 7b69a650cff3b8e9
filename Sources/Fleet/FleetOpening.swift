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
    /// Tells this life of the gateway from others.
    private let life = hex(randomBytes(4))

    package init(
        _ settings: FleetSettings,
        _ cluster: any ClusterEngine,
        _ journal: Journal
    ) throws(ShardProblem) {
        self.settings = settings
        self.journal = journal
        do throws(QueueError) {
            lock = try DirectoryLock(settings.directory)
        } catch {
            throw ShardProblem(.lasting, error.description)
        }
        do throws(SystemError) {
            opener = try ShardOpener(settings, cluster, journal)
            control = try ControlLog(
                cluster.control,
                node: settings.node,
                patience: settings.queue.commitRetries.timeout,
                journal
            )
        } catch {
            throw ShardProblem(.lasting, error.description)
        }
    }

    /// May be tried again after a `passing` problem.
    package func open() throws(ShardProblem) -> ShardFleet {
        let messages = try startMessages()
        do throws(ShardProblem) {
            return try open(messages)
        } catch {
            messages.stop()
            throw error
        }
    }

    private func open(_ messages: FleetMessages) throws(ShardProblem) -> ShardFleet {
        do throws(CommitLogError) {
            try opener.cluster.open()
        } catch {
            throw ShardProblem(error)
        }
        var own = NodeRegister(node: settings.node, life: life)
        own.keyFingerprint = settings.keyFingerprint
        do throws(ShardProblem) {
            return try join(own, messages)
        } catch {
            // The next start has another life, and would leave another register.
            if error.kind != .passing { try? opener.cluster.set(own.name, to: nil) }
            throw error
        }
    }

    private func join(
        _ own: NodeRegister,
        _ messages: FleetMessages
    ) throws(ShardProblem) -> ShardFleet {
        let began = Moment.now
        let choice: HomeChoice
        let namesakes: [NodeRegister]
        let cluster = opener.cluster
        do throws(CommitLogError) {
            // Ours comes first: a gateway reads no older registers than its own last one, so those
            // below are fresh.
            try cluster.set(own.name, to: own.bytes)
            let (shards, registers) = (try cluster.shards(), try cluster.registers())
            try useKey(registers, messages)
            choice = HomeChoice(for: settings.node, among: shards, registers)
            namesakes = choice.namesakes(of: own)
            try checkName(own, namesakes, messages)
            messages.takeName()
            for namesake in namesakes where namesake.tellsNothing {
                try cluster.set(namesake.name, to: nil)
            }
            try checkList(shards, registers, choice)
            try clean(shards, registers)
        } catch {
            throw ShardProblem(error)
        }
        try control.open()
        // The home shard may be lost before there is a keeper to be told.
        let losses = Losses()
        let claim = try claim(own)
        defer { claim.stop() }
        let home = try opener.openHome(by: choice, as: .home, whenChosen: claim.claim) { _, _ in
            { losses.note() }
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
            let keeper = try FleetKeeper(opener, fleet, own, lock, journal)
            fleet.keep(by: keeper)
            losses.tell(keeper.whenLost(.home, home.name))
        } catch {
            home.queue.close()
            throw ShardProblem(.lasting, error.description)
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

    /// A second gateway of one name would take the shard of the first. This start is tried again
    /// until the first one has ended.
    private func checkName(
        _ own: NodeRegister,
        _ namesakes: [NodeRegister],
        _ messages: FleetMessages
    ) throws(CommitLogError) {
        guard namesakes.contains(where: { !$0.isStopped }),
            !messages.call([own.node]).isEmpty
        else { return }
        try opener.cluster.set(own.name, to: nil)
        throw CommitLogError(
            .unreachable,
            "another gateway of the cluster has the name \(own.node); set queue.jetstream.node "
                + "(or queue.postgresql.node) of one of them to another name"
        )
    }

    /// While brokers elect after an outage, they may not list all shards. Throws for some time if
    /// one is missing.
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
        throw CommitLogError(
            .unreachable,
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

    private func startMessages() throws(ShardProblem) -> FleetMessages {
        let messenger: any ClusterMessenger
        do throws(CommitLogError) {
            messenger = try opener.cluster.messenger(for: settings.node, journal)
        } catch {
            throw ShardProblem(error)
        }
        let messages: FleetMessages
        do throws(SystemError) {
            messages = try FleetMessages(
                messenger,
                node: settings.node,
                life: life,
                keyFingerprint: settings.keyFingerprint,
                repeatsMax: settings.queue.repeatsMax,
                repeatsAgeMax: settings.queue.repeatsAgeMax
            )
        } catch {
            throw ShardProblem(.lasting, error.description)
        }
        do throws(CommitLogError) {
            try messages.start()
        } catch {
            throw ShardProblem(error)
        }
        return messages
    }

    private func claim(_ own: NodeRegister) throws(ShardProblem) -> ShardClaim {
        do throws(SystemError) {
            return try ShardClaim(own, opener.cluster, every: settings.timing.heartbeat)
        } catch {
            throw ShardProblem(.lasting, error.description)
        }
    }

    private func clean(
        _ shards: [ListedShard],
        _ registers: [String: Register]
    ) throws(CommitLogError) {
        do throws(ShardProblem) {
            try ShardDirectories(settings).clean(shards, registers, opener.cluster)
        } catch {
            throw CommitLogError(.refused, error.description)
        }
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
