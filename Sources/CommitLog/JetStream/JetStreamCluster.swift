import JSON
package import NATS
package import System

/// The logs and registers of a cluster in NATS JetStream, over one connection.
package final class JetStreamCluster: ClusterEngine {
    let api: JetStreamAPI
    private let settings: JetStreamSettings
    private let logBytesMax: Int
    private let isSynced: Bool
    private let registerStream: RegisterStream

    /// `queueBytes` bounds a queue; `isSynced` demands servers that sync before they confirm.
    package convenience init(
        _ client: NATSClient,
        _ settings: JetStreamSettings,
        queueBytes: Int,
        isSynced: Bool
    ) {
        self.init(
            client,
            settings,
            logBytesMax: commitLogBytesMax(forQueueOf: queueBytes),
            isSynced: isSynced
        )
    }

    init(
        _ client: NATSClient,
        _ settings: JetStreamSettings,
        logBytesMax: Int,
        isSynced: Bool
    ) {
        api = JetStreamAPI(client: client)
        self.settings = settings
        self.logBytesMax = logBytesMax
        self.isSynced = isSynced
        registerStream = RegisterStream(api, .registers(settings, isSynced: isSynced))
    }

    private var registerSetup: StreamSetup { StreamSetup(api: api, stream: registerStream.stream) }

    private func stream(of shard: String) -> ClusterStream {
        .log(of: shard, settings, bytesMax: logBytesMax, isSynced: isSynced)
    }

    package func open() throws(CommitLogError) { try registerSetup.open(makes: true) }

    // MARK: - Shards

    package func shards() throws(CommitLogError) -> [ListedShard] { try list("*") }

    /// The leader of each listed stream is asked, so a list of one is cheap.
    package func shards(named names: Set<String>) throws(CommitLogError) -> [ListedShard] {
        var shards: [ListedShard] = []
        let deadline = Moment.now + JetStreamAPI.longTimeout / 2
        for name in names {
            guard .now < deadline else { throw .unreachable("JetStream lists too slowly") }
            shards += try list(name)
        }
        return shards
    }

    /// `shard` may be `*`.
    private func list(_ shard: String) throws(CommitLogError) -> [ListedShard] {
        var shards: [String: ListedShard] = [:]
        var next: Int? = 0
        while let offset = next {
            let answer = try api.ask("STREAM.LIST", timeout: JetStreamAPI.longTimeout) { json in
                json.member(
                    "subject",
                    ClusterStream.subjectOfLog(of: shard, in: settings.cluster)
                )
                json.member("offset", offset)
            }
            switch answer {
            case .failure(let refusal): throw CommitLogError(refusal.kind, refusal.text)
            case .success(let answer):
                let page = try StreamList(answer, of: settings.cluster)
                // A stream that is made meanwhile moves others to the next page.
                for shard in page.shards { shards[shard.name] = shard }
                next = page.next
            }
        }
        return Array(shards.values)
    }

    package func log(of shard: String) -> any EngineLog {
        JetStreamLog(api.client, stream(of: shard))
    }

    package var control: any EngineLog {
        JetStreamLog(api.client, .control(settings, isSynced: isSynced))
    }

    package func remove(_ shard: String) throws(CommitLogError) {
        let name = stream(of: shard).name
        let answer = try api.ask("STREAM.DELETE.\(name)", timeout: JetStreamAPI.longTimeout)
        if case .failure(let refusal) = answer,
            refusal.code != JetStreamAPI.Refusal.streamNotFound
        {
            throw CommitLogError(refusal.kind, "the stream \(name): \(refusal.text)")
        }
    }

    // MARK: - Registers

    package func registers() throws(CommitLogError) -> [String: Register] {
        try registerStream.read()
    }

    package func set(_ register: String, to value: [UInt8]?) throws(CommitLogError) {
        try Register.check(register, value)
        try registerStream.set(register, to: value)
    }

    /// A majority of the brokers has confirmed each register.
    package func confirm() {}

    package func messenger(
        for node: String,
        _ journal: Journal
    ) throws(CommitLogError) -> any ClusterMessenger {
        try JetStreamMessenger(api.client, cluster: settings.cluster, node: node, journal)
    }

    package func changeServer() { api.client.changeServer() }

    package var durability: LogDurability {
        LogDurability(copies: settings.replicas, isSynced: isSynced)
    }

    // MARK: - For the operator

    /// What keeps gateways from telling each other, for the operator; empty: nothing.
    private var messageDoubt: String {
        let subject = "sluice.\(settings.cluster).message.check.\(hex(randomBytes(4)))"
        do throws(NATSError) {
            let inbox = try api.client.inbox(listeningTo: [subject])
            try api.client.send(OutgoingMessage(to: subject), from: inbox)
            _ = try inbox.next(until: .now + JetStreamAPI.timeout)
            return ""
        } catch {
            return
                "; gateways cannot send each other messages (\(error)): allow the user to publish and to "
                + "subscribe to sluice.\(settings.cluster).message.>"
        }
    }

    package func check() throws(CommitLogError) -> String {
        let (address, version) = try registerSetup.checkServer()
        var text =
            "\(address) has version \(version); the cluster \(settings.cluster) has "
            + counted(try shards().count, "shard")
        let stream = registerStream.stream
        if let found = try registerSetup.info() {
            if let problem = stream.problem(of: found.config) ?? stream.weakening(of: found.config)
            {
                throw .refused(problem)
            }
            _ = try registers()
            if stream.isOutdated(found.config) {
                text +=
                    "; the stream \(stream.name) has other settings, which the next start changes"
            }
        } else {
            _ = try registerSetup.tryOut(in: settings.cluster)
            text += "; the stream \(stream.name) is made at the first start"
        }
        text += messageDoubt
        let log = StreamSetup(api: api, stream: self.stream(of: settings.node))
        let isClustered = try log.tryOut(in: settings.cluster)
        // A server that is in no cluster places a stream on itself, whatever its tags are.
        guard isSynced, !isClustered else { return text }
        return text
            + "; the server is in no cluster, where the tag \(ClusterStream.syncTag) is not checked: "
            + "see to sync_interval: always"
    }
}

/// A page of the list of streams, and the shards of a cluster in it.
struct StreamList {
    private(set) var shards: [ListedShard] = []
    /// Where the next page begins; nil: this is the last one.
    private(set) var next: Int?

    /// Shards that a gateway takes note of.
    static let streamsMax = 10_000
    /// What servers put on a page.
    private static let pageSize = 256

    /// Leaves out streams that are no logs of this cluster, or whose leader tells no state.
    init(_ answer: JSONValue, of cluster: String) throws(CommitLogError) {
        guard let streams = answer["streams"]?.elements ?? (answer["streams"] == nil ? [] : nil),
            let total = answer["total"]?.wholeNumber, let offset = answer["offset"]?.wholeNumber
        else { throw .unreachable("JetStream's answer has no list of streams") }
        let prefix = ClusterStream.logPrefix(of: cluster)
        for stream in streams {
            guard let name = stream["config"]?["name"]?.text, name.hasPrefix(prefix),
                let last = stream["state"]?["last_seq"]?.wholeNumber, last >= 0
            else { continue }
            let shard = String(name.dropFirst(prefix.count))
            // The cluster "a_Q_b" has streams with the prefix of the cluster "a".
            let subject = ClusterStream.subjectOfLog(of: shard, in: cluster)
            guard stream["config"]?["subjects"] == .array([.string(subject)]) else { continue }
            shards.append(ListedShard(name: shard, last: UInt64(last)))
        }
        // Servers leave out streams without a state, but count them.
        let end = offset + max(answer["limit"]?.wholeNumber ?? Self.pageSize, 1)
        if end < min(total, Self.streamsMax) { next = end }
    }
}
