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
    /// The cost of a stream besides its rows, in memory and on disk. Devices choose its tags, so
    /// this is most of the cost of a fleet that sends tiny requests with different tags.
    package var cost: Int {
        destination.utf8.count + logstore.utf8.count + trailer.bytes.count + Self.overhead
    }

    /// The stream's object, its places in tables and lines (300 to 400 bytes), and the ends of
    /// pages.
    private static let overhead = 512
}

/// The logs of one device request that go to one stream.
package struct Batch: Sendable {
    /// Logs that the gateway accepts although SLS will never take them unchanged.
    package struct Dead: Sendable {
        package let logs: EncodedLogs
        package let reason: DeathReason

        package init(logs: EncodedLogs, reason: DeathReason) {
            self.logs = logs
            self.reason = reason
        }
    }

    package var stream: StreamKey
    package let logs: EncodedLogs
    /// Logs that become dead letters at once.
    package let dead: [Dead]
    /// The number of further logs that were accepted and that an operator's policy dropped. They
    /// count as discarded.
    package let dropped: Int
    /// False if the request may be stored without this batch when its destination has no room.
    package let isRequired: Bool
    /// How often the logs were replayed as dead letters, this time included. Logs with different
    /// counts never share a row, so each log keeps its own.
    package var replays = 0
    /// The logs as rows, if the queue compressed them when it got them. Empty for small batches,
    /// which share rows.
    package var rows: [PackedRow] = []
    /// Learns where the logs are stored; nil for almost all batches.
    package var track: BatchTrack?

    package init(
        stream: StreamKey,
        logs: EncodedLogs,
        dead: [Dead] = [],
        dropped: Int = 0,
        isRequired: Bool = true
    ) {
        self.stream = stream
        self.logs = logs
        self.dead = dead
        self.dropped = dropped
        self.isRequired = isRequired
    }

    /// The number of all its logs: for the queue, dead and dropped.
    package var allLogs: Int { dead.reduce(logs.count + dropped) { $0 + $1.logs.count } }
}

/// Logs that the queue stores as one row.
package struct PackedRow: Sendable {
    package let block: StoredBlock
    package let logs: Int

    package init(block: StoredBlock, logs: Int) {
        self.block = block
        self.logs = logs
    }
}

/// A logstore of a destination. Delivery asks for packets by outlet, so a logstore that takes
/// nothing does not hold up the others.
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
