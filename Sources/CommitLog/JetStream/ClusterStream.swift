import JSON
import System

/// A stream of a cluster: its names, and how it must be configured.
struct ClusterStream: Sendable {
    enum Content {
        case log
        case registers
    }

    static let syncTag = "sync:always"
    /// What a stream begins with: enough for a shard whose logs do not wait. It is doubled when
    /// half of it is used, so many gateways need little of the servers' disks.
    static let bytesReserved = 1 << 30

    let content: Content
    private(set) var name: String
    private(set) var subject: String
    private(set) var replicas: Int
    /// What the servers reserve, and the stream may hold. Never lowered.
    var bytesMax: Int
    /// A last limit of that, far above the queue's own.
    let bytesLimit: Int
    /// Only servers that sync before they confirm may have it.
    private(set) var isSynced: Bool
    private let weakens: Bool
    private var foundPlacement: JSONValue?

    private init(
        _ content: Content,
        _ names: (name: String, subject: String),
        _ settings: JetStreamSettings,
        bytesMax: Int,
        isSynced: Bool
    ) {
        self.content = content
        (name, subject) = names
        replicas = settings.replicas
        weakens = settings.weakens
        bytesLimit = bytesMax
        self.bytesMax = min(bytesMax, Self.bytesReserved)
        self.isSynced = isSynced
    }

    static func log(
        of shard: String,
        _ settings: JetStreamSettings,
        bytesMax: Int,
        isSynced: Bool
    ) -> ClusterStream {
        ClusterStream(
            .log,
            (
                logPrefix(of: settings.cluster) + shard,
                subjectOfLog(of: shard, in: settings.cluster)
            ),
            settings,
            bytesMax: bytesMax,
            isSynced: isSynced
        )
    }

    static func control(_ settings: JetStreamSettings, isSynced: Bool) -> ClusterStream {
        ClusterStream(
            .log,
            ("SLUICE_\(settings.cluster)_CTL", "sluice.\(settings.cluster).ctl"),
            settings,
            bytesMax: controlBytesMax,
            isSynced: isSynced
        )
    }

    private static let controlBytesMax = 256 << 20

    static func logPrefix(of cluster: String) -> String { "SLUICE_\(cluster)_Q_" }

    /// `*` has the subjects of all shards.
    static func subjectOfLog(of shard: String, in cluster: String) -> String {
        "sluice.\(cluster).q.\(shard)"
    }

    /// The stream that has the last value of each register.
    static func registers(_ settings: JetStreamSettings, isSynced: Bool) -> ClusterStream {
        ClusterStream(
            .registers,
            ("SLUICE_\(settings.cluster)_REG", "sluice.\(settings.cluster).reg.>"),
            settings,
            bytesMax: registerBytesMax,
            isSynced: isSynced
        )
    }

    /// All registers fit into one answer, so that a reader sees them at one moment.
    private static let registerBytesMax = 16 << 20
    static let registersMax = 10_000

    func subject(ofRegister register: String) -> String { subject.dropLast() + register }

    func register(of subject: String) -> String? {
        let prefix = self.subject.dropLast()
        return subject.hasPrefix(prefix) ? String(subject.dropFirst(prefix.count)) : nil
    }

    /// A copy under another name, to try it out. It must not look like a shard's.
    func trial(in cluster: String) -> ClusterStream {
        var trial = self
        let suffix = hex(randomBytes(4))
        trial.name = "SLUICE_\(cluster)_CHECK_\(suffix)"
        trial.subject = "sluice.\(cluster).check.\(suffix)" + (content == .log ? "" : ".>")
        return trial
    }

    /// The same without what an existing stream must keep: its place, and its room, on which a
    /// living owner may count.
    func keeping(_ found: JSONValue) -> ClusterStream {
        var kept = self
        kept.foundPlacement = found["placement"]
        kept.bytesMax = max(bytesMax, found["max_bytes"]?.wholeNumber ?? 0)
        return kept
    }

    func write(_ json: inout JSONWriter) {
        json.member("name", name)
        json.array("subjects") { $0.element(subject) }
        json.member("retention", "limits")
        json.member("storage", "file")
        // Registers are hints: the newest ones count.
        json.member("discard", content == .log ? "new" : "old")
        json.member("max_consumers", -1)
        json.member("max_msgs", messagesMax)
        json.member("max_msgs_per_subject", content == .log ? -1 : 1)
        json.member("max_msg_size", -1)
        json.member("max_bytes", bytesMax)
        json.member("max_age", 0)
        json.member("num_replicas", replicas)
        // How long the server knows an append that is tried again.
        json.member("duplicate_window", 120_000_000_000)
        json.member("deny_delete", true)
        json.member("deny_purge", false)
        // Any replica may answer a reader of registers. A log has the leader's word.
        json.member("allow_direct", content == .registers)
        json.member("allow_msg_ttl", content == .registers)
        json.member("compression", "none")
        let cluster = foundPlacement?["cluster"]?.text
        var tags = (foundPlacement?["tags"]?.elements ?? []).compactMap(\.text)
        tags.removeAll { $0 == Self.syncTag }
        if isSynced { tags.append(Self.syncTag) }
        guard cluster != nil || !tags.isEmpty else { return }
        json.object("placement") { json in
            if let cluster { json.member("cluster", cluster) }
            json.array("tags") { json in tags.forEach { json.element($0) } }
        }
    }

    private var messagesMax: Int { content == .log ? -1 : Self.registersMax }

    /// Finds the setting of an existing stream that would break it; nil: there is none.
    func problem(of found: JSONValue) -> String? {
        var wanted: [(String, JSONValue)] = [
            ("subjects", .array([.string(subject)])), ("retention", .string("limits")),
            ("storage", .string("file")), ("max_age", .number(0)),
        ]
        switch content {
        case .log:
            wanted += [
                ("discard", .string("new")), ("max_msgs", .number(-1)),
                ("max_msgs_per_subject", .number(-1)), ("deny_purge", .bool(false)),
            ]
        case .registers:
            wanted += [("discard", .string("old")), ("max_msgs_per_subject", .number(1))]
        }
        var wrong = wanted.first { key, value in found[key] != value }?.0
        for key in ["mirror", "sources", "subject_transform"] where found[key] != nil {
            wrong = key
        }
        return wrong.map { key in
            "the setting \(key) of the stream \(name) is not the one that Sluice gave it, and "
                + (content == .log
                    ? "logs could be lost by it" : "gateways might not see each other")
                + "; set it right with: nats stream edit \(name)"
        }
    }

    /// What these settings would take from an existing stream, which all gateways share; nil:
    /// nothing, or it is wanted.
    func weakening(of found: JSONValue) -> String? {
        guard !weakens else { return nil }
        let copies = found["num_replicas"]?.wholeNumber ?? 1
        var (lost, remedies): ([String], [String]) = ([], [])
        if copies > replicas {
            lost.append("has \(copies) copies instead of \(replicas)")
            let enough = [3, 5].first { $0 >= copies } ?? 5
            remedies.append("queue.jetstream.replicas to \(enough)")
        }
        if Self.isSynced(found), !isSynced {
            lost.append("is on brokers that sync before they confirm")
            remedies.append("queue.durability to full")
        }
        guard !lost.isEmpty else { return nil }
        return
            "the stream \(name) \(lost.joined(separator: ", and ")), which this gateway's settings would take "
            + "from the whole cluster; set \(remedies.joined(separator: " and ")), or to weaken it on "
            + "purpose set queue.jetstream.weaken: true"
    }

    /// The same, but no weaker than the existing stream.
    func keepingDurability(of found: JSONValue) -> ClusterStream {
        var kept = self
        kept.replicas = max(replicas, found["num_replicas"]?.wholeNumber ?? 1)
        kept.isSynced = isSynced || Self.isSynced(found)
        return kept
    }

    /// The updates that lead to this stream: servers may refuse other copies and other brokers at
    /// once.
    func updates(from found: JSONValue) -> [ClusterStream] {
        guard found["num_replicas"]?.wholeNumber != replicas, Self.isSynced(found) != isSynced
        else { return [self] }
        var first = self
        first.isSynced = !isSynced
        return [first, self]
    }

    private static func isSynced(_ found: JSONValue) -> Bool {
        found["placement"]?["tags"]?.elements?.contains(.string(syncTag)) ?? false
    }

    /// The next start changes the configuration of such a stream.
    func isOutdated(_ found: JSONValue) -> Bool {
        found["max_bytes"]?.wholeNumber != keeping(found).bytesMax
            || found["num_replicas"]?.wholeNumber != replicas
            || found["max_msgs"]?.wholeNumber != messagesMax
            || (found["allow_direct"] == .bool(true)) != (content == .registers)
            || content == .registers && found["allow_msg_ttl"] != .bool(true)
            || Self.isSynced(found) != isSynced
    }

    /// JetStream's refusal to make or change it, in words for the operator.
    func error(for refusal: JetStreamAPI.Refusal) -> CommitLogError {
        let lacksSpace =
            "JetStream cannot reserve \(bytesMax >> 20) MiB for the stream \(name): \(refusal.text); "
            + "raise max_file_store of the servers"
            + (content == .log
                ? ", or lower queue.max_bytes (the stream takes up to five times as much "
                    + "and 1 GiB)" : "")
        let text =
            switch refusal.code {
            case 10005 where refusal.text.contains("insufficient storage"): lacksSpace
            case 10005, 10074:
                isSynced
                    ? "JetStream finds no \(replicas) servers for the stream \(name): \(refusal.text); "
                        + "start \(replicas) servers of one cluster, each with sync_interval: always in its "
                        + "jetstream block and server_tags: [\"\(Self.syncTag)\"], or set queue.durability: normal"
                    : "JetStream finds no \(replicas) servers for the stream \(name): \(refusal.text); "
                        + "start \(replicas) servers of one cluster"
            case 10023, 10047: lacksSpace
            case 10002, 10028:
                "\(lacksSpace); the limits of the gateway's account count too"
            case 10065:
                "another stream has the subject \(subject), as one for sluice.> would; change the subjects of that "
                    + "stream, or set queue.jetstream.cluster to another name"
            case 10039, 10076:
                "JetStream is not on: \(refusal.text); add a jetstream block to each server, and allow "
                    + "it to the account"
            default:
                "JetStream refuses the stream \(name): \(refusal.text) (\(refusal.code))"
            }
        return CommitLogError(refusal.kind, text)
    }
}
