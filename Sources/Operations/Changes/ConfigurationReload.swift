package import Configuration
import Credentials
import Delivery
import Ingest
import Net
import Queue
import Resolvers
import SLS
import System

/// Applies a new configuration to a running gateway. Runs on the thread of changes.
package struct ConfigurationReload: Sendable {
    private let parts: GatewayParts
    /// When each removed destination was removed.
    private let removals = Locked<[String: Moment]>([:])
    /// What was wrong with the file when it was read last; empty when it was used.
    private let refused = Locked<[ConfigurationProblem]>([])
    private var configuration: Locked<GatewayConfiguration> { parts.configuration }
    private var decided: Locked<StoredDecisions> { parts.decided }
    private var journal: Journal { parts.journal }

    package var problems: [ConfigurationProblem] { refused.withLock { $0 } }

    package init(_ parts: GatewayParts) { self.parts = parts }

    /// Reads the file again and applies it.
    package func reread() {
        do throws(ConfigurationProblems) {
            let known = decided.withLock { $0 }
            let running = Set(configuration.withLock { $0.destinations.map(\.name) })
            // Decisions about destinations that come back.
            let returning = known.leftOut.filter { !running.contains($0.key) }
            let withReturning = known.settings.merging(returning) { current, _ in current }
            if !returning.isEmpty, let new = try? parts.reading(withReturning, true) {
                apply(new)
                take(returning)
            } else {
                apply(try parts.reading(known.settings, true))
            }
            parts.certificates.readAgain()
            refused.withLock { $0 = [] }
        } catch {
            refused.withLock { $0 = error.problems }
            for problem in error.problems {
                journal.error("the new configuration is refused", ["problem": problem.description])
            }
            journal.error("the gateway keeps the present configuration")
        }
    }

    /// Decisions about destinations that run now are in force again.
    private func take(_ returning: [String: DecidedSettings]) {
        let running = Set(configuration.withLock { $0.destinations.map(\.name) })
        decided.withLock { decided in
            for (name, settings) in returning where running.contains(name) {
                decided.settings[name] = settings
                decided.leftOut[name] = nil
            }
        }
    }

    /// The configuration as it would be with these decisions. The files are not read again.
    func candidate(with decided: [String: DecidedSettings]) throws(ConfigurationProblems)
        -> GatewayConfiguration
    {
        try parts.reading(decided, false)
    }

    /// Applies what can change at run time and names what needs a restart; nothing changes if
    /// delivery cannot use the new settings.
    package func apply(_ new: GatewayConfiguration) {
        guard let refusal = tryToApply(new) else { return }
        journal.error(
            "the new configuration is refused; the gateway keeps the present one",
            ["problem": refusal]
        )
    }

    /// The same. Returns why the settings were refused, or nil if they are applied.
    func tryToApply(_ new: GatewayConfiguration) -> String? {
        let before = configuration.withLock { $0 }
        if let obstacle = before.obstacle(to: new) { return obstacle }
        var after = before
        after.apply(new)
        let certificates: [CertificateReload.Candidate]
        do throws(TLSError) {
            certificates = try parts.certificates.candidates(before, after)
        } catch {
            return error.description
        }
        let changed = after.destinations.filter {
            !$0.isRemoved && !before.destinations.contains($0)
        }
        // Destinations that are new, or change their credential, must find the new one.
        let allCredentials = before.credentials.merging(after.credentials) { _, new in new }
        do throws(KeeperProblem) {
            try parts.keeper.replace(allCredentials)
        } catch {
            return "credentials: \(error.description)"
        }
        if after.names != before.names { parts.names.use(after.names) }
        // Before delivery uses the new settings, so that nothing goes to a place that is gone.
        parts.store.apply(after.queueRules, after.queueBounds)
        do throws(DeliveryError) {
            try parts.forwarder.use(changed)
        } catch {
            useCredentials(before.credentials)
            parts.names.use(before.names)
            parts.store.apply(before.queueRules, before.queueBounds)
            return error.description
        }
        let running = after
        configuration.withLock { $0 = running }
        useCredentials(running.credentials)
        parts.forwarder.credentialsChanged()
        // Last, as logs come for new destinations from here on. Routes and destinations change
        // together.
        parts.devices.routes.replace(RoutingTable(running))
        noteRemovals(running)
        if running.devices != before.devices { parts.devices.door.replace(running.devices) }
        journal.level = running.log.level
        let remains = parts.access.use(running.admin)
        parts.tail.keep(remains)
        do throws(SystemError) {
            try parts.webhook.use(running.webhook)
        } catch {
            journal.error("cannot start the webhook", ["problem": "\(error)"])
        }
        for each in certificates { each.adopt() }
        tell(before.changes(to: new))
        return nil
    }

    // MARK: - Removed destinations

    private func noteRemovals(_ running: GatewayConfiguration) {
        let leaving = running.destinations.filter(\.isRemoved).map(\.name)
        let now = Moment.now
        removals.withLock { removals in
            removals = Dictionary(
                uniqueKeysWithValues: leaving.map { ($0, removals[$0] ?? now) }
            )
        }
        // No more logs come that would fill their packets.
        for name in leaving { parts.store.flush(name) }
    }

    /// A removed destination stays this long: requests that began before may still bring it logs.
    package static let requestsEnd: Duration = .seconds(10)

    /// Closes removed destinations that have delivered everything. On the thread of changes.
    package func closeEmptied(after patience: Duration = requestsEnd) {
        let removals = removals.withLock { $0 }
        guard !removals.isEmpty else { return }
        let (queue, now) = (parts.store.status, Moment.now)
        let empty = removals.filter { name, moment in
            let left = queue.destinations[name]
            return now - moment >= patience && left?.ledger.queued ?? 0 == 0
                && left?.packets ?? 0 == 0
        }
        // A queue that is being repaired may have more logs of it.
        guard !empty.isEmpty, queue.problem == nil, queue.asideLogs == 0 else {
            return removals.keys.forEach { parts.store.flush($0) }
        }
        let names = Set(empty.keys)
        let running = configuration.withLock { configuration in
            configuration.forget(names)
            return configuration
        }
        parts.forwarder.remove(names)
        parts.store.apply(running.queueRules, running.queueBounds)
        useCredentials(running.credentials)
        noteRemovals(running)
        for name in names.sorted() {
            journal.info("the removed destination is empty and closed", ["destination": name])
        }
    }

    private func useCredentials(_ sources: [String: CredentialSource]) {
        do throws(KeeperProblem) {
            try parts.keeper.replace(sources)
        } catch {
            journal.error("credentials not reloaded", ["problem": error.description])
        }
    }

    private func tell(_ changes: [ConfigurationChange]) {
        let applied = changes.filter(\.isImmediate).map(\.key)
        let waiting = changes.filter { !$0.isImmediate }.map(\.key)
        if !applied.isEmpty {
            journal.info("configuration reloaded", ["changed": applied.joined(separator: ", ")])
        }
        if !waiting.isEmpty {
            journal.warning(
                "changed settings need a restart",
                ["keys": waiting.joined(separator: ", ")]
            )
        }
        if changes.isEmpty { journal.info("configuration reloaded, nothing changed") }
    }
}
