/// What one web tracking request brings.
package struct TrackedLogs: Sendable {
    package var logs: DecodedLogs
    package var topic: String?
    package var source: String?
    /// In the order of the request; of tags with the same name the last one.
    package var tags: [(key: String, value: String)]
    /// False when one of them told no time, where the protocol says that each does.
    package var areTimed = true

    package init(
        logs: DecodedLogs = DecodedLogs(),
        topic: String? = nil,
        source: String? = nil,
        tags: [(key: String, value: String)] = []
    ) {
        self.logs = logs
        self.topic = topic
        self.source = source
        self.tags = tags
    }
}
