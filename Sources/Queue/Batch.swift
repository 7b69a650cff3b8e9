package import Logs

/// Logs that may share one LogGroup.
package struct StreamKey: Hashable, Sendable {
    /// The destination's name in the configuration.
    package let destination: String
    package let logstore: String
    package let trailer: GroupTrailer

    package init(destination: String, logstore: String, trailer: GroupTrailer) {
        self.destination = destination
        self.logstore = logstore
        self.trailer = trailer
    }
}

extension StreamKey {
    /// What a stream costs besides its rows, in memory and on disk: devices choose its tags, so a fleet of
    /// tiny requests with tags of their own is mostly this.
    package var cost: Int {
        destination.utf8.count + logstore.utf8.count + trailer.bytes.count + Self.overhead
    }

    /// The stream's object and its places in tables and lines, 300 to 400 bytes, and the ends of pages.
    private static let overhead = 512
}

/// The logs of one device request that go to one stream.
package struct Batch: Sendable {
    /// Logs that are accepted, and can never be delivered as they are.
    package struct Dead: Sendable {
        package let logs: EncodedLogs
        package let reason: DeathReason

        package init(logs: EncodedLogs, reason: DeathReason) {
            self.logs = logs
            self.reason = reason
        }
    }

    package let stream: StreamKey
    package let logs: EncodedLogs
    /// These become dead letters at once.
    package let dead: [Dead]
    /// So many logs more were accepted, and dropped by a policy of the operator's: counted as discarded.
    package let dropped: Int

    package init(stream: StreamKey, logs: EncodedLogs, dead: [Dead] = [], dropped: Int = 0) {
        self.stream = stream
        self.logs = logs
        self.dead = dead
        self.dropped = dropped
    }
}

/// A logstore of a destination: what packets are asked for by, so that a logstore which takes nothing holds
/// up none of the others.
package struct Outlet: Hashable, Sendable {
    /// The destination's name in the configuration.
    package let destination: String
    package let logstore: String

    package init(destination: String, logstore: String) {
        self.destination = destination
        self.logstore = logstore
    }
}

extension StreamKey {
    package var outlet: Outlet { Outlet(destination: destination, logstore: logstore) }
}
