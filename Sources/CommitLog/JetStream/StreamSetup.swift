import JSON
import NATS
import System

/// How the stream of a shard is made, checked and kept as it must be.
struct StreamSetup: Sendable {
    /// Parts have 900 KiB and their headers.
    private static let payloadLeast = 1 << 20

    let api: JetStreamAPI
    let stream: ShardStream

    /// Corrects the stream's configuration. Makes the stream, or throws `missing`, if it is not there.
    func open(makes: Bool) throws(CommitLogError) {
        try checkServer()
        if let found = try info() {
            if let problem = stream.problem(of: found.config) {
                throw CommitLogError(.refused, problem)
            }
            if stream.isOutdated(found.config, bytes: found.bytes) {
                try configure("UPDATE", stream.keeping(found.config, bytes: found.bytes))
            }
        } else {
            guard makes else {
                throw CommitLogError(.missing, "there is no stream \(stream.name)")
            }
            try configure("CREATE", stream)
        }
    }

    /// What the stream has at this moment, and how it is configured.
    struct Info {
        let config: JSONValue
        let last: UInt64
        let messages: Int
        let bytes: Int
        let isClustered: Bool
    }

    /// What the stream's leader says; nil: the stream is not there.
    func info() throws(CommitLogError) -> Info? {
        switch try api.ask("STREAM.INFO.\(stream.name)") {
        case .success(let answer):
            guard let config = answer["config"], let state = answer["state"],
                let last = state["last_seq"]?.wholeNumber, last >= 0
            else {
                throw CommitLogError(
                    .unreachable,
                    "JetStream's answer has no configuration or state"
                )
            }
            return Info(
                config: config,
                last: UInt64(last),
                messages: state["messages"]?.wholeNumber ?? 0,
                bytes: state["bytes"]?.wholeNumber ?? 0,
                isClustered: answer["cluster"] != nil
            )
        case .failure(let refusal):
            guard refusal.code == JetStreamAPI.Refusal.streamNotFound else {
                throw stream.error(for: refusal)
            }
            return nil
        }
    }

    /// Finds out what `open` would do.
    func check() throws(CommitLogError) -> String {
        try checkServer()
        guard case .connected(let address, let server) = api.client.state else {
            throw CommitLogError(.unreachable, "the connection was lost")
        }
        let text = "\(address) has version \(server.version)"
        guard let found = try info() else {
            let isClustered = try tryOut(stream.trial)
            return "\(text); the stream \(stream.name) is made at the first start"
                + unchecked(isClustered)
        }
        if let problem = stream.problem(of: found.config) {
            throw CommitLogError(.refused, problem)
        }
        var result = "\(text); the stream \(stream.name) has \(found.messages) entries"
        if stream.isOutdated(found.config, bytes: found.bytes) {
            result += ", and other settings, which the next start changes"
        }
        // A gateway that has logs commits at least once a second.
        if let wake = try? WakeUp() { wake.wait(timeout: .seconds(2)) }
        if let again = try info(), again.last > found.last {
            result += "; a gateway of this name is running"
        }
        return result + unchecked(found.isClustered)
    }

    /// A server that is in no cluster places a stream on itself, whatever its tags are.
    private func unchecked(_ isClustered: Bool) -> String {
        guard stream.isSynced, !isClustered else { return "" }
        return
            "; the server is in no cluster, where the tag \(ShardStream.syncTag) is not checked: see to "
            + "sync_interval: always"
    }

    /// Only the servers know if they could have such a stream, and if this user may write to it.
    /// Returns true if they are a cluster.
    private func tryOut(_ trial: ShardStream) throws(CommitLogError) -> Bool {
        let made = try api.ask("STREAM.CREATE.\(trial.name)", trial.write)
        var problem: CommitLogError?
        var isClustered = false
        switch made {
        case .failure(let refusal): problem = stream.error(for: refusal)
        case .success(let answer):
            isClustered = answer["cluster"] != nil
            do throws(NATSError) {
                _ = try api.client.request(trial.subject, timeout: JetStreamAPI.timeout)
            } catch {
                problem = CommitLogError(error, trial.subject)
            }
        }
        // Also after a failure: what was refused in one answer may be there all the same.
        if case .failure(let refusal) = try api.ask("STREAM.DELETE.\(trial.name)"),
            refusal.code != JetStreamAPI.Refusal.streamNotFound, problem == nil
        {
            problem = CommitLogError(
                .refused,
                "the stream \(trial.name), made for this check, cannot be deleted: \(refusal.text); "
                    + "delete it with: nats stream rm \(trial.name)"
            )
        }
        if let problem { throw problem }
        return isClustered
    }

    private func checkServer() throws(CommitLogError) {
        switch api.client.state {
        case .disconnected(_, let error):
            let text = error?.description ?? "there is no connection to a server yet"
            throw CommitLogError(error?.kind == .refused ? .refused : .unreachable, text)
        case .connected(let address, let info):
            guard info.hasJetStream else {
                throw CommitLogError(
                    .refused,
                    "\(address) has no JetStream; add a jetstream block to its configuration"
                )
            }
            guard info.payloadMax >= Self.payloadLeast else {
                throw CommitLogError(
                    .refused,
                    "\(address) takes messages of \(info.payloadMax) bytes; set max_payload to 1MB or more"
                )
            }
        }
    }

    private func configure(_ verb: String, _ stream: ShardStream) throws(CommitLogError) {
        let answer = try api.ask("STREAM.\(verb).\(stream.name)") { stream.write(&$0) }
        if case .failure(let refusal) = answer { throw stream.error(for: refusal) }
    }
}
