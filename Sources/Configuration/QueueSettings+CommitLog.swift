package import CommitLog
import NATS
import Queue
package import System

extension QueueSettings {
    /// The commit log of the engine, which begins to connect; nil: the engine has none. Waits up to `patience` for a first
    /// connection, so that most callers need not begin with a refusal.
    package func commitLog(
        _ journal: Journal,
        patience: Duration
    ) throws(SystemError) -> (any CommitLogEngine)? {
        let isSynced = durability == .full
        if let settings = jetStream {
            let client = try NATSClient(settings.client, journal: journal)
            try? client.waitUntilConnected(atMost: patience)
            return JetStreamLog(client, settings, queueBytes: bytesMax, isSynced: isSynced)
        }
        if let settings = postgreSQL {
            return PostgreSQLLog(settings, isSynced: isSynced, journal: journal)
        }
        return nil
    }
}
