import Configuration
import Delivery
package import HTTP
package import Queue
import SLS
import SQLiteQueue
import System

// What operators do to destinations. To be called on the helm's thread.
extension Steering {
    /// Changes settings of a destination as the patch says, stores that, and lets it take effect at once. Every
    /// mistake is told, and then nothing is changed.
    package func patch(
        _ name: String,
        _ patch: [UInt8],
        if condition: IfMatch,
        _ entry: AuditEntry
    ) throws(HTTPProblem) {
        var settings = decided.withLock { $0.settings[name] } ?? DecidedSettings()
        do throws(YAMLError) {
            try settings.merge(patch)
        } catch {
            throw HTTPProblem(400, "PostBodyInvalid", error.reason)
        }
        try decide(settings, of: name, if: condition, entry)
    }

    /// Lets the destination be as the configuration says. Of one that is not in it any more, what was decided is
    /// forgotten, so that it does not come back with it.
    package func reset(_ name: String, if condition: IfMatch, _ entry: AuditEntry)
        throws(HTTPProblem)
    {
        let running = configuration.withLock(\.destinations).first { $0.name == name }
        if let running, !running.isRemoved {
            return try decide(DecidedSettings(), of: name, if: condition, entry)
        }
        let before = decided.withLock { $0.settings[name] ?? $0.leftOut[name] }
        guard running != nil || before != nil else { throw absent(name) }
        try condition.check(running?.version(before ?? DecidedSettings()))
        guard let before else { return }
        var entry = entry
        entry.before = before.json
        try keep(Decision(resets: [Decided.setting(ofDestination: name)], entry))
        decided.withLock { decided in
            decided.settings[name] = nil
            decided.leftOut[name] = nil
        }
        audit.tell(entry)
    }

    private func decide(
        _ settings: DecidedSettings,
        of name: String,
        if condition: IfMatch,
        _ entry: AuditEntry
    ) throws(HTTPProblem) {
        let before = decided.withLock { $0.settings[name] } ?? DecidedSettings()
        let running = configuration.withLock { $0 }
        guard let now = running.destinations.first(where: { $0.name == name }) else {
            throw absent(name)
        }
        try condition.check(now.version(before))
        guard !now.isRemoved else { throw .removedDestination(name) }
        guard !settings.holdsSecret else {
            throw HTTPProblem(
                400,
                "ParameterInvalid",
                "proxy: what is decided here is stored in the open; a proxy's password belongs in the "
                    + "configuration file"
            )
        }
        var next = running
        let candidate = try candidate(name, settings)
        guard running.credentials[candidate.credential] != nil else {
            throw HTTPProblem(
                400,
                "ParameterInvalid",
                "destinations.\(name).credential: the gateway has no credential "
                    + "\(clipped(candidate.credential)); describe it in the configuration and send SIGHUP"
            )
        }
        if let problem = forwarder.problem(with: [candidate.deliverySettings]) {
            throw HTTPProblem(400, "ParameterInvalid", problem.description)
        }
        next.replace(candidate)
        var entry = entry
        entry.before = before.json
        entry.after = settings.json
        let key = Decided.setting(ofDestination: name)
        let decision =
            settings.isEmpty
            ? Decision(resets: [key], entry) : Decision([key: Array(settings.json.utf8)], entry)
        try keep(decision)
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
    ) throws(HTTPProblem) -> Destination {
        var all = decided.withLock { $0.settings }
        all[name] = settings
        let read: GatewayConfiguration
        do throws(ConfigurationProblems) {
            read = try reading(all, false)
        } catch {
            let problems = error.problems.map(\.description).joined(separator: "; ")
            throw HTTPProblem(400, "ParameterInvalid", problems)
        }
        guard let destination = read.destinations.first(where: { $0.name == name }) else {
            throw .removedDestination(name)
        }
        return destination
    }

    func keep(_ decision: Decision) throws(HTTPProblem) {
        if let refusal = store.store(decision) { throw HTTPProblem(notStored: refusal) }
    }

    package func runs(_ name: String) -> Bool {
        configuration.withLock { $0.destinations.contains { $0.name == name } }
    }

    /// Why nothing can be done to a destination that does not run.
    package func absent(_ name: String, isChange: Bool = true) -> HTTPProblem {
        guard let left = store.status.destinations[name] else { return .noDestination(name) }
        let logs = left.ledger.queued
        return HTTPProblem(
            isChange ? 409 : 404,
            "DestinationNotExist",
            "destination \(clipped(name)) is not in the configuration, and "
                + "\(counted(logs, "log")) \(logs == 1 ? "waits" : "wait") for it; "
                + "describe it again and restart the gateway to deliver them"
        )
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

extension HTTPProblem {
    package static func noDestination(_ name: String) -> HTTPProblem {
        HTTPProblem(404, "DestinationNotExist", "there is no destination \(clipped(name))")
    }

    static func removedDestination(_ name: String) -> HTTPProblem {
        HTTPProblem(
            409,
            "DestinationRemoved",
            "destination \(clipped(name)) was removed from the configuration and keeps the settings that it has until "
                + "the restart; describe it again and send SIGHUP to change them. It can be paused, resumed and flushed"
        )
    }

    package static let tooManyChanges = HTTPProblem(
        503,
        "ServerBusy",
        "too many changes wait already; try again in a moment"
    )
}
