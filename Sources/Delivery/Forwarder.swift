package import Configuration
import HTTPClient
package import Queue
package import Resolvers
package import System

/// Delivers what the queue holds. A packet that is not acknowledged stays in the queue.
package final class Forwarder: Sendable {
    let userAgent: String
    private let roster: DestinationRoster
    private let dependencies: DestinationSender.Dependencies
    private let loop: TransferLoop
    private let memoryMax: Int
    private let mailbox: Mailbox<DeliveryLoop.Message>
    private let worker = Locked<Worker?>(nil)

    /// `memoryMax` bounds what it keeps in memory for all destinations; `userAgent` is `sluice/`
    /// and the version; `now` is the clock that requests are signed with.
    package init(
        _ destinations: [Destination],
        source: any PacketSource,
        credentials: CredentialDoor,
        journal: Journal,
        memoryMax: Int,
        userAgent: String = "sluice",
        names: NameService? = nil,
        now: @escaping @Sendable () -> WallTime = { .now }
    ) throws(DeliveryError) {
        self.userAgent = userAgent
        self.memoryMax = memoryMax
        roster = DestinationRoster(try Self.outputs(destinations, userAgent: userAgent))
        dependencies = DestinationSender.Dependencies(
            source: source,
            credentials: credentials,
            journal: journal,
            now: now,
            names: names
        )
        let loop = try TransferLoop(
            forDelivery: destinations.reduce(0) { $0 + $1.transfer.inFlightMax }
        )
        self.loop = loop
        mailbox = Mailbox { loop.wake() }
    }

    deinit { stop(within: .zero) }

    /// Tells of each attempt to deliver a packet.
    package func tellAttempts(to watcher: any AttemptWatcher) {
        dependencies.watcher.withLock { $0 = watcher }
    }

    /// Starts delivering. Call it once.
    package func start() throws(SystemError) {
        let (loop, mailbox, dependencies) = (loop, mailbox, dependencies)
        let (roster, memoryMax) = (roster, memoryMax)
        for entry in roster.entries { warnOfPlainText(entry.output.settings) }
        dependencies.names?.listen { _ in mailbox.post(.addressesChanged) }
        connect()
        let worker = try Worker("delivery") {
            DeliveryLoop(loop, mailbox, for: roster, with: dependencies, memoryMax: memoryMax).run()
        }
        self.worker.withLock { $0 = worker }
    }

    /// The queue then announces all outlets that it has.
    private func connect() {
        dependencies.source.connect { [mailbox] news in mailbox.post(.queue(news)) }
    }

    func post(_ message: DeliveryLoop.Message) {
        mailbox.post(message)
    }

    /// One per destination, in the order they were given.
    package var status: [DestinationStatus] {
        roster.entries.map { entry in entry.status.withLock { $0 } }
    }

    /// How wrong the host's clock is known to be, by destination.
    package var clockOffsets: ClockOffsets { dependencies.clockOffsets }

    /// Destinations that wait for a credential, or were refused with the old one, try at once.
    package func credentialsChanged() {
        mailbox.post(.credentialsChanged)
    }

    /// Holds these destinations, and releases all others.
    package func hold(_ names: Set<String>) {
        mailbox.post(.held(names))
    }

    /// These destinations try everything paused at once.
    package func tryAgain(_ names: Set<String>) {
        post(.tryAgain(names))
    }

    /// What rests at these destinations after its last try is tried once more at once.
    package func endRest(_ names: Set<String>) {
        post(.endRest(names))
    }

    /// Starts no more requests, gives those in flight so long to end, and ends the thread.
    package func stop(within patience: Duration) {
        guard let worker = worker.withLock({ $0.take() }) else { return }
        mailbox.post(.stop(.now + patience))
        worker.join()
    }

    /// An http endpoint is used, because the operator has listed it; the journal warns of it.
    func warnOfPlainText(_ settings: Destination) {
        for endpoint in settings.endpointKeys where !endpoint.isPrivate {
            dependencies.journal.warning(
                "destination is not encrypted: everyone on the path can read logs and security tokens",
                ["destination": settings.name, "endpoint": endpoint.description]
            )
        }
    }
}

extension Forwarder: CallbackThread {
    /// The callbacks of a thread that has ended are dropped.
    package func run(_ callback: @escaping @Sendable () -> Void) { post(.callback(callback)) }
}

// MARK: - Settings

extension Forwarder {
    /// The outputs for these settings, whose bounds the configuration has checked.
    static func outputs(
        _ destinations: [Destination],
        userAgent: String
    ) throws(DeliveryError) -> [any Output] {
        guard Set(destinations.map(\.name)).count == destinations.count else {
            throw DeliveryError(description: "two destinations have the same name")
        }
        return try destinations.map { destination throws(DeliveryError) in
            try destination.output(userAgent: userAgent)
        }
    }

    /// The error that `use` would throw for such settings.
    package func problem(with destinations: [Destination]) -> DeliveryError? {
        do throws(DeliveryError) {
            _ = try checked(destinations)
            return nil
        } catch {
            return error
        }
    }

    /// Adds destinations, and changes the settings of those that run, from their next request on.
    /// Others stay as they are. Everything is checked before anything changes.
    package func use(_ destinations: [Destination]) throws(DeliveryError) {
        guard !destinations.isEmpty else { return }
        let outputs = try checked(destinations)
        for output in outputs { warnOfPlainText(output.settings) }
        let known = Set(roster.entries.filter { !$0.isLeaving }.map(\.name))
        post(.settings(roster.use(outputs)))
        // Logs may wait for one that is added again.
        if !known.isSuperset(of: destinations.map(\.name)) { connect() }
    }

    /// Ends these destinations, for which the queue has no more logs.
    package func remove(_ names: Set<String>) {
        roster.leave(names)
        post(.removed)
    }

    private func checked(_ destinations: [Destination]) throws(DeliveryError)
        -> [any Output]
    {
        for new in destinations {
            if let running = roster[new.name] {
                guard running.output.settings.mayBecome(new) else {
                    throw DeliveryError(
                        description: running.isLeaving
                            ? "destination \(new.name): it is being removed; send SIGHUP again"
                            : "destination \(new.name): its kind changes with a restart only"
                    )
                }
            } else if new.kind == .file, let obstacle = new.file.obstacle {
                throw DeliveryError(description: "destination \(new.name): \(obstacle)")
            }
        }
        return try Self.outputs(destinations, userAgent: userAgent)
    }
}
