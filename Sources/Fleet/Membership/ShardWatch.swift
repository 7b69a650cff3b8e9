import CommitLog
import System

/// Shards as the cluster lists them.
struct ShardList {
    let shards: [ListedShard]
    /// nil: all shards; else those with these names.
    let asked: Set<String>?

    static func all(_ shards: [ListedShard]) -> ShardList { ShardList(shards: shards, asked: nil) }
}

/// Finds shards without an owner. A pure value: it is given what a gateway reads, and its time.
///
/// A shard is an orphan when for some time no living gateway claims it, and its log does not grow.
/// A mistake moves a shard and loses no log: the fence lets one gateway write.
struct ShardWatch {
    private struct End {
        var last: UInt64
        /// Since when it has been so.
        var since: Moment
    }

    /// What a list told of a shard. Lists leave out shards without a leader.
    private struct Listed {
        var at: Moment
        /// The highest last entry that the log ever had, also as its owner told.
        private(set) var highest: UInt64 = 0
        /// When that became known.
        private(set) var grown: Moment

        init(at now: Moment) {
            at = now
            grown = now
        }

        mutating func note(_ entry: UInt64, _ now: Moment) {
            guard entry > highest else { return }
            (highest, grown) = (entry, now)
        }
    }

    private struct Node {
        var register: NodeRegister
        var revision: UInt64
        /// Since when it has been so.
        var since: Moment
        /// It was seen to change, so it is not what a dead gateway left.
        var hasMoved: Bool
    }

    private let timing: FleetTiming
    private var ends: [String: End] = [:]
    /// All shards that were listed within `forgetAfter`.
    private var listed: [String: Listed] = [:]
    /// By the names of their registers.
    private var nodes: [String: Node] = [:]
    private var lastLookAtNodes: Moment?
    private var lastLookAtShards: Moment?
    /// Since when looks at shards have followed each other without a gap.
    private var looksAtShardsSince = Moment(nanoseconds: 0)

    init(_ timing: FleetTiming) {
        self.timing = timing
    }

    /// True after a pause: this process or the others may have stood still.
    private func isGap(since last: Moment?, _ now: Moment) -> Bool {
        last.map { now - $0 > timing.gap } ?? true
    }

    /// Takes the registers as they were at this moment, without this gateway's own.
    mutating func look(at registers: [String: Register], _ now: Moment) {
        let isGap = isGap(since: lastLookAtNodes, now)
        lastLookAtNodes = now
        var nodes: [String: Node] = [:]
        for (name, found) in registers where name.hasPrefix(NodeRegister.prefix) {
            let known = self.nodes[name]
            let isSame = known?.revision == found.revision
            let read = isSame ? known?.register : NodeRegister(found.value)
            guard let register = read, register.name == name else { continue }
            nodes[name] = Node(
                register: register,
                revision: found.revision,
                since: isSame && !isGap ? known?.since ?? now : now,
                hasMoved: known.map { $0.hasMoved || !isSame } ?? false
            )
            if !isSame {
                for (shard, entry) in register.entries {
                    listed[shard]?.note(UInt64(clamping: entry), now)
                }
            }
        }
        self.nodes = nodes
    }

    /// Takes the shards as they were at this moment.
    mutating func look(at list: ShardList, _ now: Moment) {
        let isGap = isGap(since: lastLookAtShards, now)
        lastLookAtShards = now
        if isGap { looksAtShardsSince = now }
        var ends = list.asked.map { asked in self.ends.filter { !asked.contains($0.key) } } ?? [:]
        for shard in list.shards where ShardName.node(of: shard.name) != nil {
            let before = listed[shard.name]
            listed[shard.name, default: Listed(at: now)].note(shard.last, now)
            listed[shard.name]?.at = now
            // It had this end when it was last listed, or when its owner told it.
            var since = now
            if let known = self.ends[shard.name], known.last == shard.last {
                since = known.since
            } else if let before, before.highest == shard.last {
                since = before.grown
            }
            ends[shard.name] = End(last: shard.last, since: max(since, looksAtShardsSince))
        }
        self.ends = ends
        if list.asked != nil {
            // They were left out because their owners live.
            for shard in living(now).flatMap(\.ownedShards) {
                listed[shard, default: Listed(at: now)].at = now
            }
        }
        // A time without a list says nothing about shards either.
        if isGap { for shard in listed.keys { listed[shard]?.at = now } }
        listed = listed.filter { now - $0.value.at <= timing.forgetAfter }
    }

    /// These shards were absorbed.
    mutating func forget(_ gone: some Collection<String>) {
        for shard in gone {
            ends[shard] = nil
            listed[shard] = nil
        }
    }

    /// The shards that no gateway is known to work on: none of those that have it was heard of in
    /// the last two heartbeats.
    func doubtful(_ now: Moment) -> Set<String> {
        let sure = nodes.values.filter { node in
            !node.register.isStopped && now - node.since < timing.heartbeat * 2
        }
        return Set(listed.keys).union(nodes.values.flatMap(\.register.ownedShards))
            .subtracting(sure.flatMap(\.register.ownedShards))
    }

    /// Takes the last entries that owners told in messages.
    mutating func note(_ told: [String: UInt64], _ now: Moment) {
        for (shard, entry) in told { listed[shard]?.note(entry, now) }
    }

    /// The last entry that the log of a shard had, as it was seen and as its owners told.
    func lastEntry(of shard: String) -> UInt64 {
        max(listed[shard]?.highest ?? 0, nodes.values.lazy.map(\.register).lastEntry(of: shard))
    }

    /// The gateways that live, without those that said that they stop.
    func living(_ now: Moment) -> [NodeRegister] {
        nodes.values.filter { isLiving($0, now) }.map(\.register)
    }

    private func isLiving(_ node: Node, _ now: Moment) -> Bool {
        !node.register.isStopped && now - node.since < timing.deadAfter
    }

    /// The names of the gateways that certainly live.
    func namesSeenAlive(_ now: Moment) -> Set<String> {
        Set(nodes.values.filter { $0.hasMoved && isLiving($0, now) }.map(\.register.node))
    }

    /// All gateways that have shards or live, by their names, and whether they live. The shards of
    /// this gateway, `own`, are no one else's any more.
    func known(
        besides own: Set<String>,
        _ now: Moment
    ) -> [(register: NodeRegister, isAlive: Bool)] {
        let living = Set(living(now).map(\.name))
        return nodes.values.map(\.register).filter { register in
            living.contains(register.name)
                || register.shards.keys.contains { shard in
                    ends[shard] != nil && !own.contains(shard)
                        && lastClaim(to: shard)?.register.name == register.name
                }
        }
        .sorted { ($0.node, $0.life) < ($1.node, $1.life) }
        .map { ($0, living.contains($0.name)) }
    }

    func claimants(of shard: String, _ now: Moment) -> [NodeRegister] {
        living(now).filter { $0.shards[shard] != nil }
    }

    func isOwned(_ shard: String, _ now: Moment) -> Bool {
        claimants(of: shard, now).contains {
            $0.shards[shard, default: 0] > NodeRegister.readingEpoch
        }
    }

    /// True if a candidate, whose register has this revision, may read the log of the orphan: no
    /// other gateway was before it. All see the registers in one order, so of several candidates
    /// one may.
    func mayRead(_ shard: String, asCandidateAt revision: UInt64, _ now: Moment) -> Bool {
        guard let end = ends[shard], isFree(shard, since: end.since, now) else { return false }
        return nodes.values.allSatisfy { node in
            !isLiving(node, now)
                || !node.register.isBefore(revision, setAt: node.revision, inClaiming: shard)
        }
    }

    /// True if the owner of the shard is back, or another gateway reads its log too, because each
    /// of them was cut off from the other for a while. What was told before the attempt counts for
    /// nothing: after a gap it looks new.
    func mustCancel(_ attempt: AdoptionAttempt, of own: NodeRegister, _ now: Moment) -> Bool {
        nodes.values.contains { rival in
            guard isLiving(rival, now), rival.revision > attempt.revision,
                let epoch = rival.register.shards[attempt.shard]
            else { return false }
            return switch epoch {
            case NodeRegister.candidateEpoch: false
            case NodeRegister.readingEpoch: rival.register.life < own.life
            default: true
            }
        }
    }

    /// A gateway that lives reads the shard's log to take it.
    func isRead(_ shard: String, _ now: Moment) -> Bool {
        claimants(of: shard, now).contains { $0.shards[shard] == NodeRegister.readingEpoch }
    }

    var shards: Set<String> { Set(ends.keys) }

    /// The same with those that lists have left out for a while.
    var shardsOfLate: Set<String> { Set(listed.keys) }

    /// Shards without an owner, those that wait longest first.
    func orphans(_ now: Moment) -> [String] {
        let claimed = Set(living(now).flatMap(\.shards.keys))
        return ends.filter { name, end in
            !claimed.contains(name) && isFree(name, since: end.since, now)
        }
        .sorted { ($0.value.since, $0.key) < ($1.value.since, $1.key) }.map(\.key)
    }

    /// The home shard of a stopped gateway waits for its return; adopted ones are free at once.
    private func isFree(_ shard: String, since end: Moment, _ now: Moment) -> Bool {
        guard let last = lastClaim(to: shard), last.register.isStopped else {
            return now - end >= timing.deadAfter
        }
        return last.register.home != shard || now - last.since >= timing.returnTime
    }

    private func lastClaim(to shard: String) -> Node? {
        nodes.values.filter { $0.register.shards[shard] != nil }
            .max { $0.register.shards[shard, default: 0] < $1.register.shards[shard, default: 0] }
    }

    /// The last gateway that claimed the shard, dead or not; nil: none is known.
    func lastOwner(of shard: String) -> NodeRegister? { lastClaim(to: shard)?.register }

    /// A gateway that claims the shard in a later epoch than `epoch`; nil: none does.
    func successor(of epoch: Int, in shard: String) -> NodeRegister? {
        nodes.values.first { $0.register.shards[shard].map { $0 > epoch } ?? false }?.register
    }

    /// Registers of gateways that are gone, and that name no shard that was there of late. Others
    /// tell who had a shard, and how far its log was.
    func leftovers(_ now: Moment) -> [String] {
        nodes.filter { _, node in
            now - node.since > timing.forgetAfter
                && node.register.shards.keys.allSatisfy { listed[$0] == nil }
        }.map(\.key)
    }
}
