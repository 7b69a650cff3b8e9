import HTTPClient
package import Queue
package import SLS
package import System

/// Delivers what the queue holds: asks for packets, sends them, and acknowledges those that are stored
/// at their destination. Whatever is not acknowledged stays in the queue.
package final class Forwarder: Sendable {
    let userAgent: String
    private let outputs: [SLSOutput]
    private let statuses: [Locked<DestinationStatus>]
    private let surroundings: DestinationSender.Surroundings
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
        surroundings = DestinationSender.Surroundings(
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

    /// With credentials of which nobody wants to hear anything.
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
        let (loop, mailbox, surroundings) = (loop, mailbox, surroundings)
        let memoryMax = memoryMax
        let parts = Array(zip(outputs, statuses))
        for output in outputs { warnOfPlainText(output.settings) }
        surroundings.source.deliver { packets in mailbox.post(.packets(packets)) }
        surroundings.source.recallPackets { packets in mailbox.post(.recalled(packets)) }
        surroundings.source.retireOutlets { outlets in mailbox.post(.retired(outlets)) }
        surroundings.source.announceOutlets { outlets in mailbox.post(.announced(outlets)) }
        let worker = try Worker("delivery") {
            let shared = SharedState(memoryMax: memoryMax)
            let destinations = parts.map { DestinationSender($0, shared, $1, surroundings) }
            DeliveryLoop(loop, mailbox, destinations, shared).run()
        }
        self.worker.withLock { $0 = worker }
    }

    /// Of the destinations that it was started with.
    var names: Set<String> { Set(outputs.map(\.settings.name)) }

    func post(_ message: DeliveryLoop.Message) {
        mailbox.post(message)
    }

    /// One per destination, in the order they were given.
    package var status: [DestinationStatus] {
        statuses.map { $0.withLock { $0 } }
    }

    /// By how much the host's clock is known to be wrong.
    package var clockOffsets: ClockOffsets { surroundings.clockOffsets }

    /// Lets destinations that wait for a credential, or were refused with the old one, try at once.
    package func credentialsChanged() {
        mailbox.post(.credentialsChanged)
    }

    /// From now on these destinations send nothing, and all others do.
    package func hold(_ names: Set<String>) {
        mailbox.post(.held(names))
    }

    /// Lets these destinations try at once what is paused, for whatever reason.
    package func tryAgain(_ names: Set<String>) {
        post(.tryAgain(names))
    }

    /// Starts no more requests, gives those in flight so long to end, and ends the thread.
    package func stop(within patience: Duration) {
        guard let worker = worker.withLock({ $0.take() }) else { return }
        mailbox.post(.stop(.now + patience))
        worker.join()
    }

    /// The operator has listed such an endpoint, so it is used when its turn comes.
    func warnOfPlainText(_ settings: DestinationSettings) {
        for endpoint in settings.endpoints where endpoint.scheme == .http {
            guard !EndpointKey(endpoint: endpoint, proxy: settings.transport.proxy).staysHere else {
                continue
            }
            surroundings.journal.warning(
                "destination is not encrypted: anybody on the way can read logs and security tokens",
                ["destination": settings.name, "endpoint": endpoint.description]
            )
        }
    }
}

// MARK: - Settings

extension Forwarder {
    /// What the settings come to, or everything that is wrong with them.
    static func outputs(
        _ destinations: [DestinationSettings],
        userAgent: String
    ) throws(DeliveryError) -> [SLSOutput] {
        let problems = destinations.flatMap { destination in
            destination.problems.map { "destination \(destination.name): \($0.reason)" }
        }
        guard problems.isEmpty else {
            throw DeliveryError(description: problems.joined(separator: "; "))
        }
        guard Set(destinations.map(\.name)).count == destinations.count else {
            throw DeliveryError(description: "two destinations have the same name")
        }
        do throws(EndpointError) {
            return try destinations.map { destination throws(EndpointError) in
                try SLSOutput(destination, userAgent: userAgent)
            }
        } catch {
            throw DeliveryError(description: error.description)
        }
    }

    /// What `reconfigure` would say of such settings.
    package func problem(with destinations: [DestinationSettings]) -> DeliveryError? {
        do throws(DeliveryError) {
            _ = try Self.outputs(destinations, userAgent: userAgent)
            return nil
        } catch {
            return error
        }
    }

    /// Goes on with other settings of these destinations, from their next request on; those that are not
    /// among them stay as they are. Everything is checked before anything changes. Destinations that
    /// delivery was not started with are refused: they need a restart, as those do that are to go.
    package func reconfigure(_ destinations: [DestinationSettings]) throws(DeliveryError) {
        let strangers = destinations.map(\.name).filter { !names.contains($0) }
        guard strangers.isEmpty else {
            throw DeliveryError(
                description: "not running since the start: "
                    + strangers.map { "destination \($0)" }.joined(separator: ", ")
                    + "; restart the gateway to add destinations"
            )
        }
        let outputs = try Self.outputs(destinations, userAgent: userAgent)
        for output in outputs { warnOfPlainText(output.settings) }
        post(.settings(outputs))
    }
}
