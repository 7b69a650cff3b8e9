package import Configuration
import Credentials
import Delivery
import Ingest
import Net
import Queue
import SLS
import SQLiteQueue
import System

extension Steering {
    /// Takes over from a new configuration what can change while the gateway runs, and tells of the
    /// rest which keys want a restart. All of it or, when delivery cannot go on with it, nothing.
    ///
    /// To be called by one thread.
    package func reload(_ new: GatewayConfiguration) {
        let before = configuration.withLock { $0 }
        var after = before
        after.apply(new)
        let certificates: [ReadCertificates]
        do throws(TLSError) {
            certificates = try readCertificates(before, after)
        } catch {
            return refuse(error.description)
        }
        let changed = after.destinations.filter { !before.destinations.contains($0) }
        // Those that deliver with another credential from now on must find it.
        useCredentials(before.credentials.merging(after.credentials) { _, new in new })
        // Before delivery goes on with other settings: nothing may be sent where it does not go any more.
        store.apply(after.queueRules, after.queueBounds)
        do throws(DeliveryError) {
            try forwarder.reconfigure(changed.map(\.deliverySettings))
        } catch {
            useCredentials(before.credentials)
            store.apply(before.queueRules, before.queueBounds)
            return refuse(error.description)
        }
        let running = after
        configuration.withLock { $0 = running }
        useCredentials(running.credentials)
        forwarder.credentialsChanged()
        devices.routes.replace(RoutingTable(running))
        if running.devices != before.devices { devices.door.replace(running.devices) }
        journal.level = running.log.level
        let main = running.admin.token ?? adminSecret
        let keys = AdminKeys(main: main, named: running.admin.tokens)
        adminKeys.withLock { $0 = keys }
        tail.keep(keys.know)
        do throws(SystemError) {
            try webhook.use(running.webhook)
        } catch {
            journal.error("the webhook is told nothing", ["problem": "\(error)"])
        }
        for each in certificates { each.adopt() }
        tell(before.changes(to: new))
    }

    private func refuse(_ problem: String) {
        journal.error(
            "the new configuration is refused, the gateway goes on with the one it has",
            ["problem": problem]
        )
    }

    private func useCredentials(_ sources: [String: CredentialSource]) {
        do throws(KeeperProblem) {
            try keeper.replace(sources)
        } catch {
            journal.error("credentials stay as they were", ["problem": error.description])
        }
    }

    /// Reads the file again, and goes on with what it says now.
    package func reread() {
        do throws(ConfigurationProblems) {
            reload(try reading(decided.withLock { $0.settings }, true))
            for watch in certificates { watch.lookAnew() }
        } catch {
            for problem in error.problems {
                journal.error("the new configuration is refused", ["problem": problem.description])
            }
            journal.error("the gateway goes on with the configuration it has")
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
                "these settings change with the next restart",
                ["keys": waiting.joined(separator: ", ")]
            )
        }
        if changes.isEmpty { journal.info("configuration reloaded, nothing changed") }
    }
}
