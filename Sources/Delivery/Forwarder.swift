import HTTPClient
package import Queue
package import SLS
package import System

/// Delivers what the queue holds: asks for packets, sends them, and acknowledges those that are stored
/// at their destination. A packet that is not acknowledged stays in the queue.
package final class Forwarder: Sendable {
    let userAgent: String
    private let outputs: [any Output]
    private let statuses: [Locked<DestinationStatus>]
    private let dependencies: DestinationSender.Dependencies
    private let loop: TransferLoop
    private let memoryMax: Int
    private let mailbox: Mailbox<DeliveryLoop.Message>
    private let worker = Locked<Worker?>(nil)

    /// `memoryMax` bounds what it keeps in memory for all destinations; `userAgent` is `sluice/` and the version;
    /// `now` is the clock that requests are signed with.
    package init(
        _ destinations: [DestinationSettings],
        source: any PacketSource,
        credentials: CredentialDoor,
        journal: Journal,
        memoryMax: Int = DeliveryMemory.usualMax,
        userAgent: String = "sluice",
        now: @escaping @Sendable () -> WallTime = { .now }
    ) throws(DeliveryError) {
        self.userAgent = userAgent
        self.memoryMax = memoryMax
        outputs = try Self.outputs(destinations, userAgent: userAgent)
        statuses = destinations.map { Locked(DestinationStatus($0)) }
        dependencies = DestinationSender.Dependencies(
            source: source,
            credentials: credentials,
            journal: journal,
            now: now
        )
        let loop = try TransferLoop(
            forDelivery: destinations.reduce(0) { $0 + 2 * $1.concurrency }
        )
        self.loop = loop
        mailbox = Mailbox { loop.wake() }
    }

    /// For credentials whose source needs no reports of what SLS says of them.
    package convenience init(
        _ destinations: [DestinationSettings],
        source: any PacketSource,
        credentials: @escaping @Sendable (String) -> Credential?,
        journal: Journal,
        memoryMax: Int = DeliveryMemory.usualMax,
        userAgent: String = "sluice",
        now: @escaping @Sendable () -> WallTime = { .now }
    ) throws(DeliveryError) {
        try self.init(
            destinations,
            source: source,
            credentials: CredentialDoor(credentials),
            journal: journal,
            memoryMax: memoryMax,
            userAgent: userAgent,
            now: now
        )
    }

    deinit { stop(within: .zero) }

    /// Starts delivering. Call it once.
    package func start() throws(SystemError) {
        let (loop, mailbox, dependencies) = (loop, mailbox, dependencies)
        let memoryMax = memoryMax
        let parts = Array(zip(outputs, statuses))
        for output in outputs { warnOfPlainText(output.settings) }
        dependencies.source.deliver { packets in mailbox.post(.packets(packets)) }
        dependencies.source.recallPackets { packets in mailbox.post(.recalled(packets)) }
        dependencies.source.retireOutlets { outlets in mailbox.post(.retired(outlets)) }
        dependencies.source.announceOutlets { outlets in mailbox.post(.announced(outlets)) }
        let worker = try Worker("delivery") {
            let shared = DeliveryThreadState(memoryMax: memoryMax)
            let destinations = parts.map { DestinationSender($0, shared, $1, dependencies) }
            DeliveryLoop(loop, mailbox, destinations, shared).run()
        }
        self.worker.withLock { $0 = worker }
    }

    /// The destinations that it was started with.
    var names: Set<String> { Set(outputs.map(\.settings.name)) }

    func post(_ message: DeliveryLoop.Message) {
        mailbox.post(message)
    }

    /// One per destination, in the order they were given.
    package var status: [DestinationStatus] {
        statuses.map { $0.withLock { $0 } }
    }

    /// How wrong the host's clock is known to be, by destination.
    package var clockOffsets: ClockOffsets { dependencies.clockOffsets }

    /// Credentials were changed: destinations that wait for one, or were refused with the old one, try at once.
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

    /// Starts no more requests, gives those in flight so long to end, and ends the thread.
    package func stop(within patience: Duration) {
        guard let worker = worker.withLock({ $0.take() }) else { return }
        mailbox.post(.stop(.now + patience))
        worker.join()
    }

    /// An http endpoint is used when its turn comes, because the operator has listed it; the journal warns of it.
    func warnOfPlainText(_ settings: DestinationSettings) {
        for endpoint in settings.endpoints where !endpoint.isPrivate {
            dependencies.journal.warning(
                "destination is not encrypted: everyone on the path can read logs and security tokens",
                ["destination": settings.name, "endpoint": endpoint.description]
            )
        }
    }
}

// MARK: - Settings

extension Forwarder {
    /// The outputs for these settings; the error names everything that is wrong with them.
    static func outputs(
        _ destinations: [DestinationSettings],
        userAgent: String
    ) throws(DeliveryError) -> [any Output] {
        let problems = destinations.flatMap { destination in
            destination.problems.map { "destination \(destination.name): \($0.reason)" }
        }
        guard problems.isEmpty else {
            throw DeliveryError(description: problems.joined(separator: "; "))
        }
        guard Set(destinations.map(\.name)).count == destinations.count else {
            throw DeliveryError(description: "two destinations have the same name")
        }
        return try destinations.map { destination throws(DeliveryError) in
            try destination.output(userAgent: userAgent)
        }
    }

    /// The error that `reconfigure` would throw for such settings.
    package func problem(with destinations: [DestinationSettings]) -> DeliveryError? {
        do throws(DeliveryError) {
            _ = try Self.outputs(destinations, userAgent: userAgent)
            return nil
        } catch {
            return error
        }
    }

    /// Changes the settings of these destinations, from their next request on. Other destinations stay as they are.
    /// Everything is checked before anything changes. A destination that delivery was not started with is refused:
    /// adding and removing one needs a restart.
    package func reconfigure(_ destinations: [DestinationSettings]) throws(DeliveryError) {
        let strangers = destinations.map(\.name).filter { !names.contains($0) }
        guard strangers.isEmpty else {
            throw DeliveryError(
                description: "not running since the start: "
                    + strangers.map { "destination \($0)" }.joined(separator: ", ")
                    + "; restart the gateway to add destinations"
            )
        }
        for new in destinations
        where !outputs.contains(where: { $0.settings.mayBecome(new) }) {
            throw DeliveryError(
                description: "destination \(new.name): its kind changes with a restart only"
            )
        }
        let outputs = try Self.outputs(destinations, userAgent: userAgent)
        for output in outputs { warnOfPlainText(output.settings) }
        post(.settings(outputs))
    }
}
