/// Reads pushes of Loki as protobuf: a `PushRequest`, uncompressed. One for each thread: it keeps its scratch memory.
/// `JSONLogDecoder.decodeLoki` reads the same as JSON.
///
/// What cannot be a push is refused with its place; unknown fields are skipped. What a log may be is the writer's to
/// say.
///
/// - A stream's labels are tags, so each set of labels is a group of its own; the logs of a set are together.
/// - An entry's line is the field `content`, and its structured metadata are fields beside it. Metadata called
///   `content` is `content_extracted`.
/// - Times are kept to the nanosecond. In protobuf an entry may have none; then it happened when it arrived.
package final class LokiDecoder {
    /// What stays allocated between bodies.
    private static let keptBytes = 256 << 10

    private var walk: LokiWalk

    package init(limits: LogLimits = LogLimits()) {
        walk = LokiWalk(limits: limits)
    }

    package func decode(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules()
    ) throws(LogDecodingError) -> [TrackedLogs] {
        defer { walk.writer.shrink(to: Self.keptBytes) }
        do throws(ProtobufError) {
            walk.writer.start(timing, rules)
            return try walk.push(body)
        } catch {
            throw LogDecodingError(position: error.position, reason: error.reason)
        }
    }
}
