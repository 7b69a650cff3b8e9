import NATS
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
}

/// Three brokers that sync before they confirm, for all tests that do not harm them. They end with
/// the process.
nonisolated(unsafe) let sharedBrokers = Result { try Brokers(3) }
