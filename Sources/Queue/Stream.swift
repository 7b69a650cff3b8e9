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

/// The logs of one device request that go to one stream.
package struct Batch: Sendable {
    package let stream: StreamKey
    package let logs: EncodedLogs

    package init(stream: StreamKey, logs: EncodedLogs) {
        self.stream = stream
        self.logs = logs
    }
}
