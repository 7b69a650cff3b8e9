package import Configuration
import Crypto
import Delivery
package import HTTP
import Ingest
import JSON
package import Queue
import SLS
import System

/// Operators' changes to destinations: settings, pauses, flushes. On the thread of changes.
package struct DestinationChanges: Sendable {
    /// Names every destination in a request that names one.
    package static let all = "*"

    private let parts: GatewayParts
    private let reload: ConfigurationReload
    private let audit: AuditTrail

    package init(_ parts: GatewayParts, _ reload: ConfigurationReload, _ audit: AuditTrail) {
        self.parts = parts
        self.reload = reload
        self.audit = audit
    }

    // MARK: - Questions, from any thread

    /// The settings of a destination that runs.
    package func settings(of name: String) -> Destination? {
        parts.configuration.withLock { $0.destinations.first { $0.name == name } }
    }

    package var decisions: StoredDecisions { parts.decided.withLock { $0 } }

    /// Why an operator's request about a destination that does not run fails.
    package func absent(_ name: String, isChange: Bool = true) -> HTTPProblem {
        guard let left = parts.store.status.destinations[name] else { return .noDestination(name) }
        let logs = left.ledger.queued
        return HTTPProblem(
            isChange ? 409 : 404,
            "DestinationNotExist",
            "destination \(clipped(name)) is not in the configuration, and "
                + "\(counted(logs, "log")) \(logs == 1 ? "waits" : "wait") for it; "
                + "add it to the configuration again and send SIGHUP to deliver them"
        )
    }

    // MARK: - Settings

    /// Merges, stores and applies a patch. A wrong one changes nothing, and the answer names every
    /// mistake.
    package func patch(
        _ name: String,
        _ patch: [UInt8],
        if condition: IfMatch,
        _ entry: AuditEntry
    ) throws(HTTPProblem) {
        var settings = parts.decided.withLock { $0.settings[name] } ?? DecidedSettings()
        do throws(YAMLError) {
            try settings.merge(patch)
        } catch {
            throw HTTPProblem(400, "PostBodyInvalid", error.reason)
        }
        try decide(settings, of: name, if: condition, entry)
    }

    /// Forgets the decided settings; the configuration's count again. Also for a destination that
    /// the configuration no longer has, so that the decisions do not return with it.
    package func reset(_ name: String, if condition: IfMatch, _ entry: AuditEntry)
        throws(HTTPProblem)
    {
        let running = settings(of: name)
        if let running, !running.isRemoved {
            return try decide(DecidedSettings(), of: name, if: condition, entry)
        }
        let before = parts.decided.withLock { $0.settings[name] ?? $0.leftOut[name] }
        guard running != nil || before != nil else { throw absent(name) }
        try condition.check(running?.version(before ?? DecidedSettings()))
        guard let before else { return }
        var entry = entry
        entry.before = before.json
        try keep(Decision(resets: [StoredDecisions.setting(ofDestination: name)], entry))
        parts.decided.withLock { decided in
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
        let before = parts.decided.withLock { $0.settings[name] } ?? DecidedSettings()
        let running = parts.configuration.withLock { $0 }
        guard let now = running.destinations.first(where: { $0.name == name }) else {
            throw absent(name)
        }
        try condition.check(now.version(before))
        guard !now.isRemoved else { throw .removedDestination(name) }
        if let key = settings.secretKey {
            throw .query(
                "\(key): decisions are stored unencrypted; put \(key == "proxy" ? "a proxy with a password" : key) "
                    + "into the configuration file"
            )
        }
        var next = running
        let candidate = try candidate(name, settings)
        guard candidate.kind == now.kind else {
            throw .query(
                "destinations.\(name).kind: change it in the configuration file and restart the gateway"
            )
        }
        if let credential = candidate.credentialInUse, running.credentials[credential] == nil {
            throw .query(
                "destinations.\(name).credential: the gateway has no credential "
                    + "\(clipped(credential)); add it to the configuration and send SIGHUP"
            )
        }
        if let problem = parts.forwarder.problem(with: [candidate]) {
            throw .query(problem.description)
        }
        next.replace(candidate)
        var entry = entry
        entry.before = before.json
        entry.after = settings.json
        let key = StoredDecisions.setting(ofDestination: name)
        let decision =
            settings.isEmpty
            ? Decision(resets: [key], entry) : Decision([key: Array(settings.json.utf8)], entry)
        try keep(decision)
        reload.apply(next)
        parts.decided.withLock { decided in
            decided.settings[name] = settings.isEmpty ? nil : settings
            decided.leftOut[name] = nil
        }
        audit.tell(entry)
    }

    /// The destination as it would be with these settings.
    private func candidate(
        _ name: String,
        _ settings: DecidedSettings
    ) throws(HTTPProblem) -> Destination {
        var all = parts.decided.withLock { $0.settings }
        all[name] = settings
        let read: GatewayConfiguration
        do throws(ConfigurationProblems) {
            read = try reload.candidate(with: all)
        } catch {
            let problems = error.problems.map(\.description).joined(separator: "; ")
            throw .query(problems)
        }
        guard let destination = read.destinations.first(where: { $0.name == name }) else {
            throw .removedDestination(name)
        }
        return destination
    }

    private func keep(_ decision: Decision) throws(HTTPProblem) {
        if let refusal = parts.store.decisions.store(decision) {
            throw HTTPProblem(notStored: refusal)
        }
    }

    // MARK: - Sending

    /// Sends nothing more until `resume`.
    package func pause(_ name: String, _ entry: AuditEntry) throws(HTTPProblem) {
        let held = decisions.held
        let paused = held.union(try names(name))
        guard paused != held else { return }
        try hold(paused, entry)
    }

    /// Sends again, and retries at once what SLS has paused.
    package func resume(_ name: String, _ entry: AuditEntry) throws(HTTPProblem) {
        let held = decisions.held
        // Also one that is not configured any more: it would be paused when it returns.
        let names = try names(name, among: held)
        let paused = held.subtracting(names)
        if paused == held {
            audit.record(entry)
        } else {
            try hold(paused, entry)
        }
        parts.forwarder.tryAgain(names)
    }

    private func hold(_ held: Set<String>, _ entry: AuditEntry) throws(HTTPProblem) {
        let before = decisions.held
        var entry = entry
        entry.before = before.sorted().joined(separator: ", ")
        entry.after = held.sorted().joined(separator: ", ")
        let paused = held.subtracting(before).map {
            (StoredDecisions.setting(ofHeld: $0), [UInt8(1)])
        }
        let resumed = Set(before.subtracting(held).map { StoredDecisions.setting(ofHeld: $0) })
        try keep(Decision(Dictionary(uniqueKeysWithValues: paused), resets: resumed, entry))
        parts.decided.withLock { $0.held = held }
        parts.forwarder.hold(held)
        audit.tell(entry)
    }

    /// Sends all waiting logs now, in small packets, and those that rest after their last try.
    package func flush(_ name: String, _ entry: AuditEntry) throws(HTTPProblem) {
        let names = try names(name)
        for name in names { parts.store.flush(name) }
        parts.forwarder.endRest(names)
        audit.record(entry)
    }

    /// The destinations that a request means: running ones, and `others`.
    private func names(
        _ name: String,
        among others: Set<String> = []
    ) throws(HTTPProblem) -> Set<String> {
        let all = parts.configuration.withLock { $0.destinations.map(\.name) }
        guard name != Self.all else { return others.union(all) }
        guard all.contains(name) || others.contains(name) else { throw absent(name) }
        return [name]
    }
}

extension GatewayConfiguration {
    fileprivate mutating func replace(_ destination: Destination) {
        for index in destinations.indices where destinations[index].name == destination.name {
            destinations[index] = destination
        }
    }
}

extension HTTPProblem {
    package static func noDestination(_ name: String) -> HTTPProblem {
        notFound("DestinationNotExist", "there is no destination \(clipped(name))")
    }

    static func removedDestination(_ name: String) -> HTTPProblem {
        conflict(
            "DestinationRemoved",
            "destination \(clipped(name)) was removed from the configuration, and its settings are fixed; "
                + "add it again and send SIGHUP to change them. Pause, resume and flush still work"
        )
    }

    package static let tooManyChanges = busy(
        "too many changes are waiting; try again in a moment"
    )
}

extension Destination {
    /// Changes with the destination's settings and with decisions about it.
    package func version(_ decided: DecidedSettings) -> String {
        var json = JSONWriter()
        json.object { $0.settings(self) }
        return "\"\(Digest.sha256Hex(json.text + decided.json).prefix(16))\""
    }
}

/// Stops the intake and delivers the queue, until an operator ends it or the gateway stops.
package struct Draining: Sendable {
    private let parts: GatewayParts
    private let audit: AuditTrail

    package init(_ parts: GatewayParts, _ audit: AuditTrail) {
        self.parts = parts
        self.audit = audit
    }

    /// Flushes too, so that logs do not wait for full packets. On the thread of changes.
    package func begin(_ entry: AuditEntry) {
        turn(off: true, entry)
        for destination in parts.configuration.withLock(\.destinations) {
            parts.store.flush(destination.name)
        }
    }

    /// On the thread of changes.
    package func end(_ entry: AuditEntry) {
        turn(off: false, entry)
    }

    private func turn(off isOff: Bool, _ entry: AuditEntry) {
        let intake = parts.devices.intake
        let wasOff = intake.isOff
        intake.turn(off: isOff)
        if isOff != wasOff { audit.record(entry) }
    }
}
