import Admin
package import Configuration
import Credentials
import Delivery
import HTTP
import Ingest
package import Net
package import Operations
package import Queue
import Resolvers
import SQLiteQueue
package import System

/// Wires the rooms: queue, delivery, admin and device listeners start in this order and stop in
/// reverse.
package final class Gateway: Sendable {
    /// The file that keeps the generated admin token; nil when the operator configured one.
    package let tokenFile: String?

    let parts: GatewayParts
    let reporter: Reporter
    let history: History
    let configurationReload: ConfigurationReload
    let servers: GatewayServers

    package var configuration: Locked<GatewayConfiguration> { parts.configuration }
    var decided: Locked<StoredDecisions> { parts.decided }
    var store: any GatewayQueue { parts.store }
    var names: NameService { parts.names }
    var keeper: CredentialKeeper { parts.keeper }
    var forwarder: Forwarder { parts.forwarder }
    var tail: Tail { parts.tail }
    var devices: DeviceHandler.Shared { parts.devices }
    var webhook: Webhook { parts.webhook }
    var certificates: CertificateReload { parts.certificates }
    var workers: OperatorWorkers { parts.workers }
    var journal: Journal { parts.journal }

    /// `reading` reads the configuration again.
    package init(
        _ described: GatewayConfiguration,
        on store: any GatewayQueue,
        passed: PassedListeners = .none,
        journal: Journal,
        reading: @escaping ConfigurationReading
    ) throws {
        var configuration = described
        let stored = try store.decisions.recall(within: .seconds(10))
        let decisions = configuration.takeDecided(from: stored, reading, journal)
        if !decisions.settings.isEmpty { store.apply(configuration.queueRules) }
        let kept = TokenFile(dataDirectory: configuration.dataDirectory, journal: journal)
        tokenFile = configuration.admin.token == nil ? kept.path : nil
        let secret = if let given = configuration.admin.token { given } else { try kept.token() }
        let listeners = try ListenerSettings(configuration, passed, journal)
        let assembly = PartsAssembly(
            configuration: configuration,
            store: store,
            stored: stored,
            journal: journal
        )
        let parts = try assembly.parts(
            decisions,
            reading: reading,
            access: AdminTokens(main: secret, configuration.admin),
            certificates: CertificateReload(listeners.certificates)
        )
        var isRunning = false
        // The keeper's threads would outlive a failed start.
        defer { if !isRunning { parts.keeper.stop() } }
        self.parts = parts
        let reporter = Reporter(parts, adminLabels: AdminRoute.labels)
        self.reporter = reporter
        history = try History { [reporter] in reporter.report }
        configurationReload = ConfigurationReload(parts)
        let operators = AdminHandler.Shared(
            parts,
            configurationReload,
            reporter: reporter,
            history: history
        )
        parts.forwarder.hold(decisions.held)
        try parts.forwarder.start()
        servers = try GatewayServers(listeners, parts.devices) { AdminHandler(operators) }
        ClusterResponder(operators).begin()
        try start(SharedDecisions(parts, configurationReload, stored))
        isRunning = true
        servers.add(to: reporter, listeners)
        for warning in configuration.startWarnings { journal.warning("\(warning)") }
        warnOfStrangers()
    }

    /// Starts what works beside the listeners.
    private func start(_ shared: SharedDecisions) throws {
        let alerts = CredentialAlerts(configuration, of: keeper, to: webhook, journal)
        try workers.start { [certificates, configurationReload] in
            for watch in certificates.watches { watch.look() }
            alerts.look()
            configurationReload.closeEmptied()
            shared.applyIfDue()
        }
        try tail.start()
        try devices.captures.start()
        try history.start()
        try webhook.use(configuration.withLock(\.webhook))
        try devices.door.keySources.start(journal)
        store.decisions.followDecisions { [changes = workers.changes] in
            shared.changed()
            // If too many jobs wait, it is done after one of them.
            _ = changes.post { shared.applyIfDue() }
        }
    }

    package var report: GatewayReport { reporter.report }

    /// The threads on the way of a log. The queue of a cluster is left out: it may wait for its
    /// commit log, which a restart does not bring back.
    var watched: [WatchedThread] {
        let loops = servers.ofDevices.flatMap(\.loops) + [("delivery", forwarder)]
        let threads = loops.map { name, thread in
            WatchedThread(name: name) { thread.run($0) }
        }
        guard store.others == nil else { return threads }
        let queue = WatchedThread(name: "queue") { [store] callback in
            var wish = StreamWish()
            wish.count = 1
            store.list(wish) { _ in callback() }
        }
        return threads + [queue]
    }

    package var deviceAddress: ListenAddress { servers.devices.address }
    /// nil: devices have no TLS listener.
    package var secureDeviceAddress: ListenAddress? { servers.secureDevices?.address }
    package var adminAddress: ListenAddress { servers.admin.address }

    /// Reads the configuration again, on the thread of changes, and tells of the end.
    package func reread(whenDone: @escaping @Sendable () -> Void = {}) {
        let isPosted = workers.changes.post { [configurationReload] in
            configurationReload.reread()
            whenDone()
        }
        guard !isPosted else { return }
        journal.warning("SIGHUP ignored: too many changes are waiting")
        whenDone()
    }

    /// Applies a configuration on the calling thread. For tests.
    package func reload(_ new: GatewayConfiguration) {
        configurationReload.apply(new)
    }

    /// Warns of logs for a destination that is not configured any more; they would wait unseen.
    private func warnOfStrangers() {
        for (name, ledger) in report.strangers where ledger.queued > 0 {
            journal.warning(
                "logs wait for a destination that is not in the configuration; add it again to "
                    + "deliver them",
                ["destination": name, "queued": ledger.queued]
            )
        }
    }
}

extension GatewayConfiguration {
    var queueConfiguration: QueueConfiguration {
        var settings = QueueConfiguration(
            directory: dataDirectory,
            bytesMax: queue.bytesMax,
            ageMax: queue.ageMax,
            durability: queue.durability,
            freeBytesMin: queue.freeBytesMin,
            destinations: queueRules
        )
        settings.deadLetterAgeMax = queue.deadLetterAgeMax
        settings.streamsMax = queue.streamsMax
        settings.senders = devices.senders.count
        settings.repeatsAgeMax = devices.duplicates.window
        settings.repeatsMax = devices.duplicates.window > .zero ? devices.duplicates.max : 0
        return settings
    }
}

extension Gateway {
    /// Stops accepting, answers the requests in flight, delivers as much as the time allows, and
    /// closes the queue. The remaining logs wait there for the next start.
    ///
    /// Delivery continues while requests finish. Requests have half of the time, so that a client
    /// that never ends its request leaves the other half to deliver the logs that were added last.
    /// If devices' socket was passed, only requests are waited for: clients wait in its backlog for
    /// the next process, which delivers the rest.
    package func stop(within time: Duration) {
        let deadline = Moment.now + time
        reporter.markStopping()
        // A change may wait for another gateway.
        store.others?.stopAsking()
        workers.stop()
        webhook.stop()
        devices.door.keySources.stop()
        // Admission stays open: a request that has begun may still be stored and acknowledged.
        flush()
        let isPassed = servers.arePassed
        HTTPServer.stop(
            servers.ofDevices,
            within: time / 2,
            lastRequests: isPassed ? Self.lastRequests : .zero
        )
        flush()
        if !isPassed { deliver(until: deadline) }
        let patience = isPassed ? Duration.zero : deadline - Moment.now
        forwarder.stop(within: max(Duration.milliseconds(500), patience))
        names.stop()
        tail.stop()
        history.stop()
        store.close()
        devices.captures.stop()
        // After everything that must happen: a source may hang where nothing interrupts it.
        keeper.stop()
        let left = store.status.ledger.queued
        journal.info(
            left == 0
                ? "stopped; all logs are delivered" : "stopped; undelivered logs stay in the queue",
            ["queued": left]
        )
        // The last to stop, so that it shows how the stop proceeds.
        servers.admin.stop(within: .milliseconds(500))
        reporter.forgetServers()
    }

    /// How long clients that keep a connection may still use it: most of those that send steadily
    /// learn of its end by an answer.
    private static let lastRequests = Duration.seconds(1)

    private var destinationNames: [String] {
        configuration.withLock { $0.destinations.map(\.name) }
    }

    private func flush() {
        destinationNames.forEach { store.flush($0) }
    }

    private func deliver(until deadline: Moment) {
        // Paused destinations send nothing, so waiting for them is useless.
        let held = decided.withLock(\.held)
        let names = destinationNames.filter { !held.contains($0) }
        while Moment.now < deadline {
            let status = store.status
            guard names.contains(where: { status.destinations[$0]?.ledger.queued ?? 0 > 0 })
            else { return }
            // The queue has no event for its emptiness, and a stop happens once.
            pause(.milliseconds(20))
        }
    }

    private func pause(_ time: Duration) {
        guard let sleeper = try? WakeUp() else { return }
        sleeper.wait(timeout: time)
    }
}
