package import Logs
package import System

/// Logs that wait, for people who look.
package struct QueuedLog: Sendable {
    package let stream: StreamKey
    package let accepted: WallTime
    package let entry: LogEntry

    package init(stream: StreamKey, accepted: WallTime, entry: LogEntry) {
        self.stream = stream
        self.accepted = accepted
        self.entry = entry
    }
}

/// Shows logs of the queue without taking them out.
package protocol LogPeeker: Sendable {
    /// The oldest logs of a destination, or of one of its logstores, oldest first in each stream. May read from the disk.
    func oldestLogs(
        of destination: String,
        logstore: String?,
        limit: Int
    ) throws(QueueError) -> [QueuedLog]
}
