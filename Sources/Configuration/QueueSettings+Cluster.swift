package import CommitLog
import NATS
import Queue
package import System

extension QueueSettings {
    /// The cluster of the engine, which begins to connect; nil: the engine has none. Waits up to `patience` for a first
    /// connection, so that most callers need not begin with a refusal.
    package func cluster(
        _ journal: Journal,
        patience: Duration
    ) throws(SystemError) -> (any ClusterEngine)? {
        let isSynced = durability == .full
        if let settings = jetStream {
            let client = try NATSClient(settings.client, journal: journal)
            try? client.waitUntilConnected(atMost: patience)
            return JetStreamCluster(client, settings, queueBytes: bytesMax, isSynced: isSynced)
        }
        if let settings = postgreSQL {
            return PostgreSQLCluster(
                settings,
                queueBytes: bytesMax,
                isSynced: isSynced,
                journal: journal
            )
        }
        return nil
    }

    /// The name of this gateway in its cluster; nil: the engine has none.
    package var node: String? { jetStream?.node ?? postgreSQL?.node }
}
