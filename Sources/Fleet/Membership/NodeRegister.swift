package import CommitLog
package import Crypto
import JSON
import Queue
import System

/// What one life of a gateway tells the others of its cluster, again and again. Only hints depend
/// on it: who owns a shard is decided by the fence of its log.
package struct NodeRegister: Equatable, Sendable {
    package static let prefix = "node."

    package var node: String
    /// Tells this life of the gateway from others.
    package var life: String
    /// The shard that takes the logs of its devices; nil: it has none at this moment.
    package var home: String?
    /// The epochs of the shards that it owns, or `readingEpoch`, or `candidateEpoch`.
    package var shards: [String: Int] = [:]
    /// In the place of an epoch: it reads the shard's log to take it.
    package static let readingEpoch = 0
    /// In the place of an epoch: it is a candidate, which wants to read the log. Of several
    /// candidates the one whose register was set first may.
    package static let candidateEpoch = -1
    /// The last entries of their logs. A log that ends sooner has lost its end.
    package var entries: [String: Int] = [:]
    /// It has stopped, and left its shards to others.
    package var isStopped = false
    /// For operators at other gateways: version, sum of the ledgers, problem of the queue.
    var version = Version.current
    var ledger = Ledger()
    var problem: String?
    /// Names of its destinations; empty: not told.
    package var destinations: [String] = []
    /// A fingerprint of the cluster's sealing key; nil: there is none, or a passphrase.
    package var keyFingerprint: String?
    /// How its logs keep their entries; nil: not told.
    package var durability: LogDurability?

    package init(node: String, life: String) {
        self.node = node
        self.life = life
    }

    /// In the order in which they are written.
    private static let counts: [any WritableKeyPath<Ledger, Int64> & Sendable] = [
        \.accepted, \.delivered, \.queued, \.dead, \.expired, \.discarded,
    ]

    var ownedShards: some Sequence<String> {
        shards.lazy.filter { $0.value > Self.readingEpoch }.map(\.key)
    }

    /// True if its gateway was before the one whose register has the revision `other`: it has the
    /// shard, reads its log, or was a candidate before.
    func isBefore(_ other: UInt64, setAt revision: UInt64, inClaiming shard: String) -> Bool {
        guard let epoch = shards[shard] else { return false }
        return epoch > Self.candidateEpoch || revision < other
    }

    /// True if this life never had a shard. A crash loop leaves many such registers.
    var tellsNothing: Bool {
        entries.isEmpty && shards.values.allSatisfy { $0 <= Self.readingEpoch }
    }

    var name: String { "\(Self.prefix)\(node)~\(life)" }

    var bytes: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("node", node)
            json.member("life", life)
            if let home { json.member("home", home) }
            json.object("shards") { json in
                for (name, epoch) in shards.sorted(by: { $0.key < $1.key }) {
                    json.member(name, epoch)
                }
            }
            json.object("entries") { json in
                for (name, entry) in entries.sorted(by: { $0.key < $1.key }) {
                    json.member(name, entry)
                }
            }
            if isStopped { json.member("stopped", true) }
            json.member("version", version)
            json.array("ledger") { json in
                for path in Self.counts { json.element(Int(ledger[keyPath: path])) }
            }
            if let problem { json.member("problem", String(problem.prefix(500))) }
            json.array("destinations") { json in destinations.forEach { json.element($0) } }
            if let keyFingerprint { json.member("key", keyFingerprint) }
            if let durability {
                json.member("copies", durability.copies)
                json.member("synced", durability.isSynced)
            }
        }
        guard json.bytes.count > Register.bytesMax, !destinations.isEmpty else { return json.bytes }
        // What others must know comes first.
        var shorter = self
        shorter.destinations = []
        return shorter.bytes
    }

    /// nil: it is none of this version, or not written by a gateway.
    init?(_ bytes: [UInt8]) {
        guard bytes.count <= Register.bytesMax,
            let json = try? JSONValue(parsing: bytes, depthMax: 4),
            let node = json["node"]?.text, let life = json["life"]?.text,
            case .object(let shards)? = json["shards"]
        else { return nil }
        self.init(node: node, life: life)
        home = json["home"]?.text
        for shard in shards {
            guard let epoch = shard.value.wholeNumber else { return nil }
            self.shards[shard.name] = epoch
        }
        if case .object(let entries)? = json["entries"] {
            for entry in entries { self.entries[entry.name] = entry.value.wholeNumber }
        }
        isStopped = json["stopped"] == .bool(true)
        version = json["version"]?.text ?? ""
        for (found, path) in zip(json["ledger"]?.elements ?? [], Self.counts) {
            ledger[keyPath: path] = Int64(found.wholeNumber ?? 0)
        }
        problem = json["problem"]?.text
        destinations = (json["destinations"]?.elements ?? []).compactMap(\.text)
        keyFingerprint = json["key"]?.text
        if let copies = json["copies"]?.wholeNumber, case .bool(let isSynced)? = json["synced"] {
            durability = LogDurability(copies: copies, isSynced: isSynced)
        }
    }
}

extension Sequence<NodeRegister> {
    /// The last entry that the log of a shard had, as its owners told; 0: they told none.
    func lastEntry(of shard: String) -> UInt64 {
        reduce(0) { Swift.max($0, UInt64(Swift.max(0, $1.entries[shard] ?? 0))) }
    }
}

extension NodeRegister {
    /// Why the gateways cannot be of one cluster; nil: they may be.
    func clusterMismatch(with other: NodeRegister) -> String? {
        if let keyFingerprint, let theirs = other.keyFingerprint, keyFingerprint != theirs {
            return "it has another credentials.encryption_key"
        }
        guard !destinations.isEmpty, !other.destinations.isEmpty,
            Set(destinations).isDisjoint(with: other.destinations)
        else { return nil }
        return "it has none of this gateway's destinations"
    }

    /// How the other gateway keeps its logs differently; nil: it does not. No reason against its
    /// shards: each change of the settings begins at one gateway.
    func durabilityMismatch(with other: NodeRegister) -> String? {
        guard let durability, let theirs = other.durability, durability != theirs else {
            return nil
        }
        return "its logs have \(theirs), and this gateway's \(durability)"
    }
}

/// The names of shards. No name is used twice, because the removal of a log is not fenced: a
/// gateway that stood still in the middle of it would otherwise remove a log of later.
enum ShardName {
    /// The node of shards that were local queues. No gateway takes one for its former home.
    static let moved = "moved"
    private static let separator: Character = "~"
    private static let randomBytesCount = 4

    /// A new name for the home shard of a node.
    static func new(for node: String) -> String {
        "\(node)\(separator)\(hex(randomBytes(randomBytesCount)))"
    }

    /// The node whose home the shard began as; nil: the name is none of a shard.
    static func node(of shard: String) -> String? {
        guard let end = shard.lastIndex(of: separator) else { return nil }
        let random = shard[shard.index(after: end)...].utf8
        guard random.count == 2 * randomBytesCount, random.allSatisfy(isHexDigit) else {
            return nil
        }
        return String(shard[..<end])
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}

/// Claims a shard, and sends heartbeats while its log is read, perhaps for minutes.
final class ShardClaim: Sendable {
    private let own: Locked<NodeRegister>
    private let cluster: any ClusterEngine
    private let isOver = Locked(false)
    private let wake: WakeUp
    private let worker = Locked<Worker?>(nil)

    init(
        _ own: NodeRegister,
        _ cluster: any ClusterEngine,
        every pause: Duration
    ) throws(SystemError) {
        self.own = Locked(own)
        self.cluster = cluster
        wake = try WakeUp()
        let started = try Worker("fleet") { [self] in
            while !isOver.withLock({ $0 }) {
                wake.wait(timeout: pause)
                // In the lock, so that no older one comes behind a claim.
                self.own.withLock { register in
                    guard register.home != nil else { return }
                    // If it fails, the next one may not.
                    try? cluster.set(register.name, to: register.bytes)
                }
            }
        }
        worker.withLock { $0 = started }
    }

    func claim(_ shard: String) throws(CommitLogError) {
        try own.withLock { own throws(CommitLogError) in
            own.home = shard
            // The epoch is not known yet.
            own.shards = [shard: NodeRegister.readingEpoch]
            try cluster.set(own.name, to: own.bytes)
        }
    }

    func stop() {
        isOver.withLock { $0 = true }
        wake.signal()
        worker.withLock { $0.take() }?.join()
    }
}

extension SealingKey {
    /// By this gateways of a cluster see that they have the same key. The servers of the engine can
    /// read it, so there is none for a passphrase, which could be guessed from it.
    package var clusterFingerprint: String? {
        guard !isPassphrase else { return nil }
        let bytes = plainBytes.withBytes { Array($0) } + Array("sluice cluster".utf8)
        return hex(Digest.sha256(bytes).prefix(8))
    }
}
