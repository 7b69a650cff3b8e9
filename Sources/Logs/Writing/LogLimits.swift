/// What the body of one request may contain, whatever its format. SLS's own limits where it has them: a
/// log beyond them would make SLS refuse the whole packet it travels in.
package struct LogLimits: Sendable, Equatable {
    /// A field's name; what is done with a longer one is in the rules.
    package var keyBytes = FieldName.bytesMax
    /// A field's value, likewise.
    package var valueBytes = 1 << 20
    /// Objects and arrays inside each other, the outermost included; 64 at most.
    package var depth = 64
    /// Logs in one body. SLS has no number any more; its Python SDK stops at 512,000.
    package var logs = 1 << 19
    /// The bytes that may be added to a body where damaged ones are replaced.
    package var repairBytes = 10 << 20
    /// Texts of one body that cannot be read as logs: each becomes a dead letter, which is a row of its own.
    package var unreadable = 1000
    /// The bytes of one such text. It is kept whole or not at all.
    package var unreadableBytes = 256 << 10
    /// Packages of one body, where a body has such.
    package var packages = 1024
    /// Streams with different labels, or events of different origins, of one body.
    package var streams = 8192
    /// Labels that the streams with different labels of one body have together: 16 for each of the most, which is one more than Loki
    /// takes by default.
    package var labels = 1 << 17
    /// Fields of one log. Each name is compared with those before it, and beyond the caches of a processor that costs ten times as
    /// much. Elasticsearch takes 1000 by default, and OpenTelemetry's SDKs write 128.
    package var fields = 8192
    /// Streams that logs of one body become with their tags. What is beyond has its tags as fields of its logs.
    package var batches = 1024
    package var topicBytes = 128
    package var sourceBytes = 128
    /// Tags of a stream, and their bytes, since they are kept with each of its packets. What a request has
    /// beyond them is for its logs.
    package var tags = 128
    package var tagsBytes = 8 << 10
    /// Tags of one request that are kept in any way.
    package var tagsGathered = 1024

    package init() {}
}
