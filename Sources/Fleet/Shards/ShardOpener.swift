import CommitLog
import Queue
import SQLiteQueue
import Synchronization
import System

/// Opens the queues of shards. Reading a log takes a while, and ends early when the gateway stops.
final class ShardOpener: Sendable {
    let settings: FleetSettings
    let cluster: any ClusterEngine
    let journal: Journal
    private let lastNumber = Atomic<Int>(0)
    private let isEnding = Atomic<Bool>(false)
    private let ending: WakeUp

    init(
        _ settings: FleetSettings,
        _ cluster: any ClusterEngine,
        _ journal: Journal
    ) throws(SystemError) {
        ending = try WakeUp()
        self.settings = settings
        self.cluster = cluster
        self.journal = journal
    }

    /// Ends what takes long, and lets nothing of the kind begin.
    func end() {
        isEnding.store(true, ordering: .releasing)
        ending.signal()
    }

    var hasEnded: Bool { isEnding.load(ordering: .acquiring) }

    /// Waits so long, or until the end. For one thread.
    func pause(_ time: Duration) {
        if !hasEnded { ending.wait(timeout: time) }
    }

    func newShard() -> Shard {
        Shard(number: lastNumber.add(1, ordering: .relaxed).newValue)
    }

    /// Gives back an unseen number: an attempt that fails each minute must not use them up.
    func giveBack(_ shard: Shard) {
        _ = lastNumber.compareExchange(
            expected: shard.number,
            desired: shard.number - 1,
            ordering: .relaxed
        )
    }

    /// Takes the shard: a gateway that had it has it no more. Refuses it if its log ends before
    /// `entry`. An adoption may be cancelled, and does not take the last room on the disk, which
    /// the home shard needs. `whenLost` is called when another gateway takes it from this one.
    func open(
        _ name: String,
        as shard: Shard,
        makes: Bool,
        knownTo entry: UInt64,
        adopting adoption: AdoptionAttempt? = nil,
        whenLost: @escaping @Sendable () -> Void
    ) throws(CommitLogError) -> DurableQueue {
        let log = cluster.log(of: name)
        try log.open(makes: makes)
        if !makes { try checkEnd(of: log, name, knownTo: entry) }
        var configuration = settings.queue
        configuration.directory = settings.directory(of: name)
        configuration.shard = shard
        configuration.commitLog = StoppableLog(log: log, opener: self, adoption: adoption)
        configuration.commitLogBytesMax = log.bytesMax
        configuration.whenLost = whenLost
        if adoption != nil { configuration.restoreFreeBytesMin = configuration.freeBytesMin }
        let queue = try CommitLogError.onQueue { () throws(QueueError) in
            try DurableQueue(configuration, journal: journal)
        }
        adoption?.opened()
        return queue
    }

    /// Called before an epoch is appended, which would hide that entries are missing.
    private func checkEnd(
        of log: any CommitLog,
        _ shard: String,
        knownTo entry: UInt64
    ) throws(CommitLogError) {
        guard entry > 0 else { return }
        for attempt in 1...Self.endAttempts {
            do throws(CommitLogError) {
                _ = try log.read(from: entry + 1, atMost: bytesOfOneEntry)
                return
            } catch {
                guard error.kind == .damaged else { throw error }
                guard attempt == Self.endAttempts else {
                    // A server that has just become the leader may not know all of it yet.
                    pause(settings.timing.heartbeat)
                    continue
                }
                throw .damaged(
                    "\(error): the servers have lost entries. Restore their files, or give the end up: "
                        + "sluice restore --take \(shard) DIRECTORY, then sluice shards add DIRECTORY"
                )
            }
        }
    }

    private static let endAttempts = 3

    /// Opens the first chosen shard that the caller can claim, and that is not ceded.
    func openHome(
        by choice: HomeChoice,
        besides others: Set<String>,
        claim: (String) throws(CommitLogError) -> Bool,
        whenLost: @escaping @Sendable () -> Void
    ) throws(CommitLogError) -> OwnedShard {
        var others = others
        while true {
            let (name, isNew) = choice.choose(besides: others)
            guard try claim(name) else {
                others.insert(name)
                continue
            }
            let queue = try open(
                name,
                as: .home,
                makes: isNew,
                knownTo: choice.lastEntry(of: name),
                whenLost: whenLost
            )
            guard queue.cededTo != nil else {
                journal.info(
                    isNew ? "home shard made" : "home shard open",
                    ["node": settings.node, "shard": name]
                )
                return OwnedShard(name: name, shard: .home, queue: queue)
            }
            // While this gateway was away another one emptied it, and has not removed it yet.
            queue.close()
            others.insert(name)
        }
    }
}

/// A log that cannot be read any more once the gateway stops, or gives its adoption up.
private struct StoppableLog: CommitLog {
    let log: any EngineLog
    let opener: ShardOpener
    let adoption: AdoptionAttempt?

    var name: String { log.name }

    func append(
        _ parts: [[UInt8]],
        after last: UInt64,
        id: AppendID,
        until deadline: Moment
    ) -> AppendAnswer {
        log.append(parts, after: last, id: id, until: deadline)
    }

    func read(from number: UInt64, atMost bytes: Int) throws(CommitLogError) -> [NumberedEntry] {
        guard bytes <= bytesOfOneEntry || !opener.hasEnded else {
            throw .unreachable("the gateway stops")
        }
        if let adoption, adoption.isCancelled {
            throw .unreachable("another gateway has the shard, or reads its log")
        }
        return try log.read(from: number, atMost: bytes)
    }

    func trim(before number: UInt64) throws(CommitLogError) -> Bool { try log.trim(before: number) }

    func makeRoom(for bytes: Int) throws(CommitLogError) -> Int? { try log.makeRoom(for: bytes) }
}

struct OwnedShard: Sendable {
    let name: String
    let shard: Shard
    let queue: DurableQueue
}

struct HomeChoice {
    private let node: String
    private let shards: Set<String>
    private let registers: [String: Register]
    /// The gateways that have told of themselves, this one's earlier lives among them. The latest
    /// comes first.
    private let nodes: [NodeRegister]

    init(for node: String, among shards: [ListedShard], _ registers: [String: Register]) {
        self.node = node
        self.shards = Set(shards.map(\.name))
        self.registers = registers
        nodes = registers.values.sorted { $0.revision > $1.revision }
            .compactMap { NodeRegister($0.value) }
    }

    /// Earlier lives of this gateway, and others with its name.
    func namesakes(of own: NodeRegister) -> [NodeRegister] {
        nodes.filter { $0.node == node && $0.life != own.life }
    }

    /// The last home of the node, if it is not listed and not known to be gone.
    var unlisted: String? {
        nodes.filter { $0.node == node }.compactMap(\.home).first { home in
            registers[ShardDirectories.goneRegister(of: home)] == nil && !shards.contains(home)
        }
    }

    /// True if the register names no shard, but this one, that may exist; unlisted ones may.
    func mayForget(_ register: NodeRegister, besides shard: String) -> Bool {
        register.shards.keys.allSatisfy { name in
            name == shard || registers[ShardDirectories.goneRegister(of: name)] != nil
        }
    }

    /// True if no other gateway had the shard, or had claimed it, before the register `own` was set
    /// to claim it.
    func isFirst(_ own: String, toClaim shard: String) -> Bool {
        guard let mine = registers[own] else { return false }
        return registers.allSatisfy { name, found in
            guard name != own, let other = NodeRegister(found.value), other.node != node else {
                return true
            }
            return !other.isBefore(mine.revision, setAt: found.revision, inClaiming: shard)
        }
    }

    /// The last entry that the log of a shard had, as its owners told.
    func lastEntry(of shard: String) -> UInt64 { nodes.lastEntry(of: shard) }

    /// One that began as this node's home and that no other gateway claims, else a new one.
    func choose(besides lost: Set<String> = []) -> (name: String, isNew: Bool) {
        let others = Set(nodes.filter { $0.node != node }.flatMap(\.shards.keys))
        let free = shards.filter { name in
            ShardName.node(of: name) == node && !others.contains(name) && !lost.contains(name)
        }
        let last = nodes.first { $0.node == node && $0.home.map(free.contains) ?? false }?.home
        // Others of the kind are adopted later.
        guard let name = last ?? free.min() else { return (ShardName.new(for: node), true) }
        return (name, false)
    }
}
