import Delivery
import SLS
import System

extension Gateway {
    /// Takes over from a new configuration what can change while the gateway runs, and tells of the
    /// rest which keys want a restart.
    package func reload(_ new: GatewayConfiguration) {
        let changes = configuration.withLock { running in
            let changes = running.changes(to: new)
            running.apply(new)
            return changes
        }
        let running = configuration.withLock { $0 }
        journal.level = running.log.level
        credentials.withLock { $0 = running.credentials }
        forwarder.credentialsChanged()
        if let token = running.admin.token { adminToken.withLock { $0 = AdminToken(token) } }
        devices.routes.replace(RoutingTable(running))
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
