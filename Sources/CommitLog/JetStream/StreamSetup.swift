import JSON
import NATS
import System

/// How a stream is made, checked and kept as it must be.
struct StreamSetup: Sendable {
    /// Parts have 900 KiB and their headers.
    private static let payloadLeast = 1 << 20

    let api: JetStreamAPI
    let stream: ClusterStream

    /// Corrects the stream's configuration; makes a missing stream, or throws `missing`. One that
    /// would become weaker is refused with `makes`, and otherwise keeps its strength.
    /// Returns what the stream may hold.
    @discardableResult
    func open(makes: Bool) throws(CommitLogError) -> Int {
        try checkServer()
        guard let found = try info() else {
            guard makes else { throw .missing("there is no stream \(stream.name)") }
            try configure("CREATE", stream)
            return stream.bytesMax
        }
        if let problem = stream.problem(of: found.config) { throw .refused(problem) }
        var wanted = stream
        if let problem = stream.weakening(of: found.config) {
            guard !makes else { throw .refused(problem) }
            // A shard of another gateway, whose logs may not wait for other settings here.
            wanted = stream.keepingDurability(of: found.config)
        }
        if wanted.isOutdated(found.config) {
            for update in wanted.updates(from: found.config) {
                try configure("UPDATE", update.keeping(found.config))
            }
        }
        return wanted.keeping(found.config).bytesMax
    }

    /// Has the servers reserve room for so many bytes more than the stream has. Returns what it may
    /// hold then.
    func makeRoom(for bytes: Int) throws(CommitLogError) -> Int {
        guard let found = try info() else { throw .missing("there is no stream \(stream.name)") }
        let before = found.config["max_bytes"]?.wholeNumber ?? stream.bytesMax
        var wider = stream.keepingDurability(of: found.config)
            .keeping(found.config)
        wider.bytesMax = min(stream.bytesLimit, found.bytes + bytes)
        guard before < wider.bytesMax else { return before }
        try configure("UPDATE", wider)
        return wider.bytesMax
    }

    /// What the stream has at this moment, and how it is configured.
    struct Info {
        let config: JSONValue
        let first: UInt64
        let last: UInt64
        let bytes: Int
    }

    /// What the stream's leader says; nil: the stream is not there.
    func info() throws(CommitLogError) -> Info? {
        switch try api.ask("STREAM.INFO.\(stream.name)") {
        case .success(let answer):
            guard let config = answer["config"], let state = answer["state"],
                let first = state["first_seq"]?.wholeNumber, first >= 0,
                let last = state["last_seq"]?.wholeNumber, last >= 0
            else {
                throw .unreachable("JetStream's answer has no configuration or state")
            }
            return Info(
                config: config,
                first: UInt64(first),
                last: UInt64(last),
                bytes: state["bytes"]?.wholeNumber ?? 0
            )
        case .failure(let refusal):
            guard refusal.code == JetStreamAPI.Refusal.streamNotFound else {
                throw stream.error(for: refusal)
            }
            return nil
        }
    }

    /// Finds out if a stream that is not there could be made. Only the servers know if they could
    /// have such a stream, and if this user may use it. Returns true if they are a cluster.
    func tryOut(in cluster: String) throws(CommitLogError) -> Bool {
        let trial = stream.trial(in: cluster)
        let made = try api.ask("STREAM.CREATE.\(trial.name)", trial.write)
        var problem: CommitLogError?
        var isClustered = false
        switch made {
        case .failure(let refusal): problem = stream.error(for: refusal)
        case .success(let answer):
            isClustered = answer["cluster"] != nil
            do throws(CommitLogError) {
                try use(trial)
            } catch {
                problem = error
            }
        }
        // Also after a failure: what was refused in one answer may be there all the same.
        if case .failure(let refusal) = try api.ask("STREAM.DELETE.\(trial.name)"),
            refusal.code != JetStreamAPI.Refusal.streamNotFound, problem == nil
        {
            problem = CommitLogError.refused(
                "the stream \(trial.name), made for this check, cannot be deleted: \(refusal.text); "
                    + "delete it with: nats stream rm \(trial.name)"
            )
        }
        if let problem { throw problem }
        return isClustered
    }

    /// Writes to a stream that was made for it, and reads it as it is read later.
    private func use(_ trial: ClusterStream) throws(CommitLogError) {
        let subject = trial.content == .log ? trial.subject : trial.subject(ofRegister: "a")
        do throws(NATSError) {
            _ = try api.client.request(subject, timeout: JetStreamAPI.timeout)
        } catch {
            throw CommitLogError(error, subject)
        }
        switch trial.content {
        case .registers: _ = try RegisterStream(api, trial).read()
        case .log:
            // A log that cannot be trimmed would grow until it is full.
            guard case .failure(let refusal) = try api.ask("STREAM.PURGE.\(trial.name)") else {
                return
            }
            throw CommitLogError(
                refusal.kind,
                "JetStream does not let this gateway purge streams: \(refusal.text)"
            )
        }
    }

    /// Checks the server that this client is connected to, and returns its address and version.
    @discardableResult
    func checkServer() throws(CommitLogError) -> (address: NATSServerAddress, version: String) {
        switch api.client.state {
        case .disconnected(_, let error):
            let text = error?.description ?? "there is no connection to a server yet"
            throw CommitLogError(error?.kind == .refused ? .refused : .unreachable, text)
        case .connected(let address, let info):
            guard info.hasJetStream else {
                throw .refused(
                    "\(address) has no JetStream; add a jetstream block to its configuration"
                )
            }
            guard info.payloadMax >= Self.payloadLeast else {
                throw .refused(
                    "\(address) takes messages of \(info.payloadMax) bytes; set max_payload to 1MB or more"
                )
            }
            return (address, info.version)
        }
    }

    private func configure(_ verb: String, _ stream: ClusterStream) throws(CommitLogError) {
        let answer = try api.ask("STREAM.\(verb).\(stream.name)") { stream.write(&$0) }
        if case .failure(let refusal) = answer { throw stream.error(for: refusal) }
    }
}
