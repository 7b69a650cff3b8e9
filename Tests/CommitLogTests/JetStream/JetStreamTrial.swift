import NATS
import System
import TestNATS
import TestSupport
import Testing

@testable import CommitLog

/// Logs of one cluster of Sluice, whose name no other test has, on brokers.
final class JetStreamTrial {
    let brokers: Brokers
    let recorder = JournalRecorder()
    var settings: JetStreamSettings
    private var clients: [NATSClient] = []

    init(_ brokers: Brokers, replicas: Int? = nil) {
        self.brokers = brokers
        settings = JetStreamSettings(
            servers: brokers.addresses,
            cluster: "t\(UInt32.random(in: 1...UInt32.max))",
            node: "a",
            replicas: replicas ?? brokers.all.count
        )
    }

    /// Each log has a connection of its own, as those of different gateways do.
    func client() throws -> NATSClient {
        let client = try NATSClient(
            NATSSettings(servers: settings.servers, name: "test"),
            journal: recorder.journal
        )
        try client.waitUntilConnected(atMost: .seconds(20))
        clients.append(client)
        return client
    }

    /// As another gateway sees the cluster.
    func cluster() throws -> JetStreamCluster {
        let bytesMax = 64 << 20
        let client = try client()
        let cluster = JetStreamCluster(client, settings, logBytesMax: bytesMax, isSynced: true)
        try untilReached { () throws(CommitLogError) in try cluster.open() }
        return cluster
    }

    func log(isSynced: Bool = true, queueBytes: Int = 64 << 20) throws -> JetStreamLog {
        let bytesMax = commitLogBytesMax(forQueueOf: queueBytes)
        return try log(bytesMax: bytesMax, isSynced: isSynced)
    }

    func log(bytesMax: Int, isSynced: Bool = true) throws -> JetStreamLog {
        let stream = ClusterStream.log(
            of: settings.node,
            settings,
            bytesMax: bytesMax,
            isSynced: isSynced
        )
        let log = JetStreamLog(try client(), stream)
        try untilReached { () throws(CommitLogError) in try log.open(makes: true) }
        return log
    }

    /// Tries again while the brokers elect their leaders.
    func untilReached<Value>(_ body: () throws(CommitLogError) -> Value) throws -> Value {
        var outcome: Result<Value, CommitLogError>?
        _ = eventually(within: .seconds(40)) {
            outcome = Result { () throws(CommitLogError) in try body() }
            guard case .failure(let error) = outcome else { return true }
            return error.kind != .unreachable
        }
        return try #require(outcome).get()
    }

    func entries(of log: JetStreamLog, from number: UInt64 = 1) throws -> [NumberedEntry] {
        var entries: [NumberedEntry] = []
        var next = number
        while true {
            let more = try untilReached { () throws(CommitLogError) in
                try log.read(from: next, atMost: 4 << 20)
            }
            guard let last = more.last else { return entries }
            entries += more
            next = last.number + 1
        }
    }
}

/// Three brokers that sync before they confirm, for all tests that do not harm them. They end with
/// the process.
let sharedBrokers = SharedBrokers()

final class SharedBrokers: @unchecked Sendable {
    /// Under the lock. A broker is no value of one thread, but tests here use only its address.
    private var brokers: Brokers?
    private let lock = Locked(())

    func get() throws -> Brokers {
        try lock.withLock { _ in
            if let brokers { return brokers }
            let started = try Brokers(3)
            brokers = started
            return started
        }
    }
}
