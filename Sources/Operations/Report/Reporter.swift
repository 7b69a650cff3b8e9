package import Configuration
import Credentials
import Delivery
package import HTTP
import Ingest
import JSON
import Net
import Queue
import Resolvers
import Routing
import SLS
import Synchronization
import System

/// Collects the state of all parts of a running gateway.
package final class Reporter: Sendable {
    package let operators: OperatorCounters
    private let parts: GatewayParts
    private var running: Locked<GatewayConfiguration> { parts.configuration }
    private let start = Moment.now
    private struct Listener {
        let name: String
        let server: HTTPServer
        let certificates: CertificateWatch?
    }

    private let servers = Locked<[Listener]>([])
    private let stopping = Atomic<Bool>(false)

    /// `adminLabels` are the labels of admin routes in metrics.
    package init(_ parts: GatewayParts, adminLabels: [String]) {
        self.parts = parts
        operators = OperatorCounters(labels: adminLabels)
    }

    package func add(
        _ server: HTTPServer,
        as name: String,
        _ certificates: CertificateWatch? = nil
    ) {
        let listener = Listener(name: name, server: server, certificates: certificates)
        servers.withLock { $0.append(listener) }
    }

    /// Makes the gateway not ready, so that load balancers use others.
    package func markStopping() {
        stopping.store(true, ordering: .relaxed)
    }

    /// Releases the servers; their handlers hold this reporter.
    package func forgetServers() {
        servers.withLock { $0 = [] }
    }

    /// The configuration that the gateway runs with.
    package var configuration: GatewayConfiguration { running.withLock { $0 } }

    /// `GET /admin/routes`: the present filters and routes.
    package var rulesDocument: String {
        let rules = running.withLock(\.routing)
        var json = JSONWriter()
        json.object { $0.rules(rules) }
        return json.text
    }

    package var report: GatewayReport {
        let devices = parts.devices
        let (door, counters) = (devices.door, devices.counters)
        // In this order: nothing arrives while the intake is off, and what has arrived is queued.
        let isDraining = devices.intake.isOff
        let arriving = devices.intake.arriving
        let queue = parts.store.status
        let delivery = Dictionary(
            parts.forwarder.status.map { ($0.name, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        let described = running.withLock(\.destinations)
        let configured = Set(described.map(\.name))
        let servers = servers.withLock { $0 }
        let dialects = running.withLock(\.devices.accepted)
        return GatewayReport(
            now: .now,
            uptime: .now - start,
            intake: .init(
                isStopping: stopping.load(ordering: .relaxed),
                isDraining: isDraining,
                arriving: arriving
            ),
            listeners: servers.map {
                .init(
                    name: $0.name,
                    address: $0.server.address.description,
                    counters: $0.server.counters,
                    certificates: $0.certificates?.status
                )
            },
            requests: .init(
                answers: [
                    ("devices", counters.answers(showing: dialects)),
                    ("admin", operators.answers.all),
                ],
                accepted: counters.accepted(showing: dialects),
                refused: counters.refused,
                content: counters.content,
                filters: devices.filters.counts
            ),
            senders: .init(
                keys: door.counts,
                unknown: door.unknownSenders,
                nonces: door.nonces.count,
                tokens: door.tokenCount,
                tokenKeys: door.keySources.status,
                addresses: door.addresses.counts,
                addressesMax: running.withLock(\.devices.perAddress.addressesMax)
            ),
            queue: queue,
            destinations: described.compactMap { settings in
                delivery[settings.name].map {
                    .init(
                        settings: settings,
                        queue: queue.destinations[settings.name] ?? .init(),
                        delivery: $0
                    )
                }
            },
            strangers: queue.destinations.filter { !configured.contains($0.key) }
                .mapValues(\.ledger),
            credentials: parts.keeper.status,
            names: parts.names.status,
            webhook: parts.webhook.status,
            looks: .init(
                captures: devices.captures.all.count(where: \.isRunning),
                captured: devices.captures.capturedCount,
                captureBytes: devices.captures.bytes,
                refusalsMissed: devices.refusedRequests.missed,
                sessions: operators.sessions.load(ordering: .relaxed)
            ),
            changes: operators.changed
        )
    }
}
