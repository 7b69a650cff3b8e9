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
    /// Packages of one body, where a body has such.
    package var packages = 1024
    /// Streams with different labels, or events of different origins, of one body.
    package var streams = 8192
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
