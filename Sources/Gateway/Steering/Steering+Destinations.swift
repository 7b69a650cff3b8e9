import Delivery
import Queue
import SLS
import System

// What operators do to destinations. To be called on the helm's thread.
extension Steering {
    /// Changes settings of a destination as the patch says, stores that, and lets it take effect at once. Every
    /// mistake is told, and then nothing is changed.
    func patch(
        _ name: String,
        _ patch: [UInt8],
        if version: String?,
        _ entry: AuditEntry
    ) throws(Refusal) {
        var settings = decided.withLock { $0.settings[name] } ?? DecidedSettings()
        do throws(YAMLError) {
            try settings.merge(patch)
        } catch {
            throw Refusal(400, "PostBodyInvalid", error.reason)
        }
        try decide(settings, of: name, if: version, entry)
    }

    /// Lets the destination be as the configuration says.
    func reset(_ name: String, if version: String?, _ entry: AuditEntry) throws(Refusal) {
        try decide(DecidedSettings(), of: name, if: version, entry)
    }

    private func decide(
        _ settings: DecidedSettings,
        of name: String,
        if version: String?,
        _ entry: AuditEntry
    ) throws(Refusal) {
        let before = decided.withLock { $0.settings[name] } ?? DecidedSettings()
        let running = configuration.withLock { $0 }
        guard let now = running.destinations.first(where: { $0.name == name }) else {
            throw .noDestination(name)
        }
        if let version, version != "*", version != now.version(before) {
            throw Refusal(
                412,
                "PreconditionFailed",
                "somebody changed the destination meanwhile; look at it again"
            )
        }
        guard !settings.holdsSecret else {
            throw Refusal(
                400,
                "ParameterInvalid",
                "proxy: what is decided here is stored in the open; a proxy's password belongs in the "
                    + "configuration file"
            )
        }
        var next = running
        let candidate = try candidate(name, settings)
        guard running.credentials[candidate.credential] != nil else {
            throw Refusal(
                400,
                "ParameterInvalid",
                "destinations.\(name).credential: the gateway has no credential "
                    + "\(clipped(candidate.credential)); describe it in the configuration and send SIGHUP"
            )
        }
        if let problem = forwarder.problem(with: [candidate.deliverySettings]) {
            throw Refusal(400, "ParameterInvalid", problem.description)
        }
        next.replace(candidate)
        var entry = entry
        entry.before = before.json
        entry.after = settings.json
        let key = Decided.setting(ofDestination: name)
        let decision =
            settings.isEmpty
            ? Decision(resets: [key], entry) : Decision([key: Array(settings.json.utf8)], entry)
        if let refusal = store.store(decision) { throw Refusal(notStored: refusal) }
        reload(next)
        decided.withLock { decided in
            decided.settings[name] = settings.isEmpty ? nil : settings
            decided.leftOut[name] = nil
        }
        audit.tell(entry)
    }

    /// The destination as it would be, read by whoever reads the configuration.
    private func candidate(
        _ name: String,
        _ settings: DecidedSettings
    ) throws(Refusal) -> Destination {
        var all = decided.withLock { $0.settings }
        all[name] = settings
        let read: GatewayConfiguration
        do throws(ConfigurationProblems) {
            read = try reading(all, false)
        } catch {
            let problems = error.problems.map(\.description).joined(separator: "; ")
            throw Refusal(400, "ParameterInvalid", problems)
        }
        guard let destination = read.destinations.first(where: { $0.name == name }) else {
            throw .noDestination(name)
        }
        return destination
    }
}

extension GatewayConfiguration {
    fileprivate mutating func replace(_ destination: Destination) {
        for index in destinations.indices where destinations[index].name == destination.name {
            destinations[index] = destination
        }
    }
}

extension DecidedSettings {
    /// A proxy's address with a password in it.
    fileprivate var holdsSecret: Bool {
        entries.contains { entry in
            guard entry.key == "proxy", case .scalar(let text, _) = entry.value.content else {
                return false
            }
            return text.contains("@")
        }
    }
}

extension Refusal {
    static func noDestination(_ name: String) -> Refusal {
        Refusal(404, "DestinationNotExist", "there is no destination \(clipped(name))")
    }

    static let tooManyChanges = Refusal(
        503,
        "ServerBusy",
        "too many changes wait already; try again in a moment"
    )

    init(notStored reason: QueueAdmission) {
        self.init(
            503,
            "ServerBusy",
            "the change cannot be stored and was not made: \(reason.reason ?? "try again")"
        )
    }
}
