import CommitLog
package import Configuration
package import Queue
import SQLiteQueue
package import System

/// Opens the queue. If its commit log lies elsewhere, that may have to wait: the gateway lives meanwhile, refuses logs, and
/// says why.
package struct QueueOpening {
    private static let pauseMin = Duration.milliseconds(250)
    private static let pauseMax = Duration.seconds(5)
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
        try checkOtherQueue()
        let cluster = try Gateway.start { () throws(SystemError) in
            try configuration.queue.cluster(journal, patience: Self.connectTime)
        }
        guard let cluster, let node = configuration.queue.node else {
            return try Gateway.start { () throws(QueueError) in
                try DurableQueue(described, journal: journal)
            }
        }
        let log = cluster.log(of: node)
        described.commitLog = log
        described.commitLogBytesMax = log.bytesMax
        described.commitRetries.timeout = configuration.queue.commitWait
        // To read the log takes time too.
        let servers = try WaitingServers(
            configuration,
            "the queue is read from its commit log",
            journal
        )
        defer { servers.stop() }
        return try open(described, cluster, log, servers, pause)
    }

    private func open(
        _ described: QueueConfiguration,
        _ cluster: any ShardCluster,
        _ log: any CommitLogEngine,
        _ servers: WaitingServers,
        _ pause: (Duration) -> Bool
    ) throws(StartProblem) -> (any GatewayQueue)? {
        var isReported = false
        var next = Self.pauseMin
        while true {
            switch try attempt(described, cluster, log) {
            case .opened(let queue):
                if isReported { journal.info("the queue is open") }
                return queue
            case .later(let reason):
                servers.tell("the queue waits for its commit log: \(reason)")
                if !isReported {
                    journal.warning(
                        "the queue waits for its commit log; devices are refused meanwhile",
                        [
                            "reason": reason, "devices": servers.addresses.devices,
                            "admin": servers.addresses.admin,
                        ]
                    )
                }
                isReported = true
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
        _ cluster: any ShardCluster,
        _ log: any CommitLogEngine
    ) throws(StartProblem) -> Attempt {
        do throws(CommitLogError) {
            try cluster.open()
            try log.open(makes: true)
        } catch {
            guard error.kind == .unreachable else {
                throw StartProblem("queue.\(configuration.queue.engine.rawValue): \(error)")
            }
            return .later(error.description)
        }
        do throws(QueueError) {
            return .opened(try DurableQueue(described, journal: journal))
        } catch {
            // A log without room may get some. What fences a start is mostly an append of an earlier life, or of an
            // earlier attempt, that came late.
            guard [.unreachable, .diskFull, .fenced].contains(error.kind) else {
                throw StartProblem(error.description)
            }
            return .later(error.description)
        }
    }

    /// The logs of a queue of another engine would wait unseen.
    private func checkOtherQueue() throws(StartProblem) {
        let isLocal = configuration.queue.engine == .sqlite
        let logs = try Gateway.start { () throws(QueueError) in
            try StoredLogs.ofQueue(in: configuration.dataDirectory, isScratch: isLocal)
        }
        guard let logs else { return }
        guard logs.queued == 0 else {
            throw StartProblem(
                "\(logs.path) has \(logs.queued) undelivered logs of another queue.engine; start with that "
                    + "engine until they are delivered, or move the file and its -wal away"
            )
        }
        if logs.dead > 0 {
            journal.warning(
                "dead letters stay in the queue of another engine",
                ["file": logs.path, "dead": logs.dead]
            )
        }
    }
}
