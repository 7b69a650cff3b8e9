import CommitLog
package import Configuration
import NATS
package import Queue
import SQLiteQueue
package import System

/// Opens the queue. If its commit log lies elsewhere, that may have to wait: the gateway lives meanwhile, refuses logs, and
/// says why.
package struct QueueOpening {
    private static let pauseMin = Duration.milliseconds(250)
    private static let pauseMax = Duration.seconds(5)
    /// Most brokers are there, and a start need not begin with a refusal.
    private static let connectTime = Duration.seconds(2)

    private let configuration: GatewayConfiguration
    private let journal: Journal

    package init(_ configuration: GatewayConfiguration, _ journal: Journal) {
        self.configuration = configuration
        self.journal = journal
    }

    /// `pause` waits so long and returns false if the operator stops the gateway. The result is then nil.
    package func open(pause: (Duration) -> Bool) throws(StartProblem) -> (any GatewayQueue)? {
        var described = configuration.queueConfiguration
        guard let settings = configuration.queue.jetStream else {
            return try Gateway.start { () throws(QueueError) in
                try DurableQueue(described, journal: journal)
            }
        }
        try checkLocalQueue()
        let client = try Gateway.start { () throws(SystemError) in
            try NATSClient(settings.client, journal: journal)
        }
        try? client.waitUntilConnected(atMost: Self.connectTime)
        let log = JetStreamLog(
            client,
            settings,
            queueBytes: configuration.queue.bytesMax,
            isSynced: configuration.queue.durability == .full
        )
        described.commitLog = log
        described.commitRetries.timeout = configuration.queue.commitWait
        return try open(described, log, pause)
    }

    private func open(
        _ described: QueueConfiguration,
        _ log: JetStreamLog,
        _ pause: (Duration) -> Bool
    ) throws(StartProblem) -> (any GatewayQueue)? {
        var servers: WaitingServers?
        defer { servers?.stop() }
        var next = Self.pauseMin
        while true {
            let reason: String
            switch try attempt(described, log) {
            case .opened(let queue):
                if servers != nil { journal.info("the queue is open") }
                return queue
            case .later(let text): reason = text
            }
            if let servers {
                servers.tell(reason)
            } else {
                let started = try WaitingServers(configuration, reason, journal)
                servers = started
                journal.warning(
                    "the queue waits for its commit log; devices are refused meanwhile",
                    [
                        "reason": reason, "devices": started.addresses.devices,
                        "admin": started.addresses.admin,
                    ]
                )
            }
            guard pause(next) else { return nil }
            next = min(next * 2, Self.pauseMax)
        }
    }

    private enum Attempt {
        case opened(any GatewayQueue)
        /// Not at this moment.
        case later(String)
    }

    private func attempt(
        _ described: QueueConfiguration,
        _ log: JetStreamLog
    ) throws(StartProblem) -> Attempt {
        do throws(CommitLogError) {
            try log.open()
        } catch {
            guard error.kind == .unreachable else {
                throw StartProblem("queue.jetstream: \(error)")
            }
            return .later(error.description)
        }
        do throws(QueueError) {
            return .opened(try DurableQueue(described, journal: journal))
        } catch {
            // A log without room may get some.
            guard [.unreachable, .diskFull].contains(error.kind) else {
                throw StartProblem(error.description)
            }
            return .later(error.description)
        }
    }

    /// Logs of a local queue would wait unseen.
    private func checkLocalQueue() throws(StartProblem) {
        let directory = configuration.dataDirectory
        guard let logs = StoredLogs.ofLocalQueue(in: directory), logs.waiting > 0 else { return }
        throw StartProblem(
            "\(directory)/queue.db has \(logs.waiting) undelivered logs of queue.engine: sqlite; start "
                + "with that engine until they are delivered, or move the file and its -wal away"
        )
    }
}
