import JSON
import System

/// The stream that has the log of a shard: its names, and how it must be configured.
struct ShardStream: Sendable {
    static let syncTag = "sync:always"

    private(set) var name: String
    private(set) var subject: String
    let replicas: Int
    /// A wall behind the queue's own bound. Servers older than our least version drop messages if it is lowered.
    private(set) var bytesMax: Int
    /// Only servers that sync before they confirm may have it.
    let isSynced: Bool
    private var foundPlacement: JSONValue?

    init(_ settings: JetStreamSettings, bytesMax: Int, isSynced: Bool) {
        name = "SLUICE_\(settings.cluster)_Q_\(settings.node)"
        subject = "sluice.\(settings.cluster).q.\(settings.node)"
        replicas = settings.replicas
        self.bytesMax = bytesMax
        self.isSynced = isSynced
    }

    /// One like it that has another name, to find out if servers could have it.
    var trial: ShardStream {
        var trial = self
        let suffix = hex(randomBytes(4))
        trial.name += "_CHECK_\(suffix)"
        trial.subject += "_check_\(suffix)"
        return trial
    }

    /// The bound for a queue that keeps so many bytes. There may be a base, as many bytes of commits, the next base, and
    /// as many bytes of commits beside that; the rest is for bases that were given up.
    static func bytesMax(forQueueOf bytes: Int) -> Int {
        bytes * 5 + 1 << 30
    }

    /// The same without what an existing stream must keep: its place, and room for what it has.
    func keeping(_ found: JSONValue, bytes: Int) -> ShardStream {
        var kept = self
        kept.foundPlacement = found["placement"]
        if bytes > bytesMax / 2 {
            kept.bytesMax = max(bytesMax, found["max_bytes"]?.wholeNumber ?? 0)
        }
        return kept
    }

    func write(_ json: inout JSONWriter) {
        json.member("name", name)
        json.array("subjects") { $0.element(subject) }
        json.member("retention", "limits")
        json.member("storage", "file")
        json.member("discard", "new")
        json.member("max_consumers", -1)
        json.member("max_msgs", -1)
        json.member("max_msgs_per_subject", -1)
        json.member("max_msg_size", -1)
        json.member("max_bytes", bytesMax)
        json.member("max_age", 0)
        json.member("num_replicas", replicas)
        // How long the server knows an append that is tried again.
        json.member("duplicate_window", 120_000_000_000)
        json.member("deny_delete", true)
        json.member("deny_purge", false)
        json.member("allow_direct", false)
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

    /// Finds the setting of an existing stream that would break the log; nil: there is none.
    func problem(of found: JSONValue) -> String? {
        let wanted: [(String, JSONValue)] = [
            ("subjects", .array([.string(subject)])), ("retention", .string("limits")),
            ("discard", .string("new")), ("storage", .string("file")), ("max_age", .number(0)),
            ("max_msgs", .number(-1)), ("max_msgs_per_subject", .number(-1)),
            ("deny_purge", .bool(false)),
        ]
        var wrong = wanted.first { key, value in found[key] != value }?.0
        for key in ["mirror", "sources", "subject_transform"] where found[key] != nil {
            wrong = key
        }
        return wrong.map { key in
            "the setting \(key) of the stream \(name) is not the one that Sluice gave it, and logs could be "
                + "lost by it; set it right with: nats stream edit \(name)"
        }
    }

    /// The next start changes the configuration of such a stream, which has so many bytes.
    func isOutdated(_ found: JSONValue, bytes: Int) -> Bool {
        let tags = found["placement"]?["tags"]?.elements ?? []
        return found["max_bytes"]?.wholeNumber != keeping(found, bytes: bytes).bytesMax
            || found["num_replicas"]?.wholeNumber != replicas
            || tags.contains(.string(Self.syncTag)) != isSynced
    }

    /// JetStream's refusal to make or change it, in words for the operator.
    func error(for refusal: JetStreamAPI.Refusal) -> CommitLogError {
        let lacksSpace =
            "JetStream cannot reserve \(bytesMax >> 20) MiB for the stream \(name): \(refusal.text); "
            + "raise max_file_store of the servers, or lower queue.max_bytes "
            + "(the stream takes five times as much and 1 GiB)"
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
                "another stream has the subject \(subject); is there a stream for sluice.>? Remove it, or set "
                    + "queue.jetstream.cluster to another name"
            case 10039, 10076:
                "JetStream is not on: \(refusal.text); add a jetstream block to each server, and allow "
                    + "it to the account"
            default:
                "JetStream refuses the stream \(name): \(refusal.text) (\(refusal.code))"
            }
        return CommitLogError(refusal.code == 10005 ? .refused : refusal.kind, text)
    }
}
