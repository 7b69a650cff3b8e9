/// The most that the body of one request may contain, whatever its format. These are SLS's own
/// limits where it has them: a log beyond them would make SLS refuse its whole packet.
package struct LogLimits: Sendable, Equatable {
    // MARK: - Logs

    /// Logs in one body. SLS has no number any more; its Python SDK stops at 512,000.
    package var logs = 1 << 19
    /// Fields of one log. Each name is compared with those before it, which costs ten times as much
    /// beyond a processor's caches. Elasticsearch takes 1000 by default, and OpenTelemetry's SDKs
    /// write
    /// 128.
    package var fields = 8192
    /// The bytes of a field's name. The rules say what becomes of a longer one.
    package var keyBytes = FieldName.bytesMax
    /// The bytes of a field's value, likewise.
    package var valueBytes = 1 << 20
    /// Objects and arrays inside each other, the outermost included; 64 at most.
    package var depth = 64

    // MARK: - Damaged bodies

    /// The bytes that may be added to a body where damaged ones are replaced.
    package var repairBytes = 10 << 20
    /// Texts of one body that cannot be read as logs: each becomes a dead letter, a row of its own.
    package var unreadable = 1000
    /// The bytes of one such text. It is kept whole or not at all.
    package var unreadableBytes = 256 << 10

    // MARK: - Streams

    /// Packages of one body.
    package var packages = 1024
    /// Streams with different labels, or events of different origins, of one body.
    package var streams = 8192
    /// Labels that the streams with different labels of one body have together: 16 for each stream,
    /// which is one more than Loki takes by default.
    package var labels = 1 << 17
    /// Streams that the logs of one body become with their tags. Logs beyond them have their tags
    /// as fields.
    package var batches = 1024

    // MARK: - Topic, source, tags

    package var topicBytes = 128
    package var sourceBytes = 128
    /// Tags of a stream, and their bytes, since they are kept with each of its packets. Tags beyond
    /// them become fields of the logs.
    package var tags = 128
    package var tagsBytes = 8 << 10
    /// Tags of one request that are kept at all.
    package var tagsGathered = 1024

    package init() {}
}

// Refusals that all formats share.
extension LogLimits {
    static func tooManyLogs(_ limit: Int) -> String {
        "the body has more than \(limit) logs; send smaller batches"
    }

    static func tooManyFields(_ limit: Int) -> String {
        "a log has more than \(limit) different fields (limits.log_fields)"
    }
}
