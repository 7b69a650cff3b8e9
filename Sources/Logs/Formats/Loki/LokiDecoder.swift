/// Reads pushes of Loki as protobuf: a `PushRequest`, uncompressed. There is one for each thread:
/// it keeps its scratch memory. `JSONLogDecoder.decodeLoki` reads the same as JSON.
///
/// Bytes that cannot be a push are refused with their position; unknown fields are skipped. The
/// writer decides what a log may be.
///
/// - A stream's labels are tags, so each set of labels is a group of its own; the logs of a set are
///   together.
/// - An entry's line is the field `content`, and its structured metadata are fields beside it.
///   Metadata
///   called `content` is `content_extracted`.
/// - Times are kept to the nanosecond. In protobuf an entry may have none; it gets its arrival
///   then.
package final class LokiDecoder {
    /// The memory that stays allocated between bodies.
    static let keptBytes = 256 << 10

    private(set) var reader: LokiProtobufReader

    package init(limits: LogLimits = LogLimits()) {
        reader = LokiProtobufReader(limits: limits)
    }

    package func decode(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules()
    ) throws(LogDecodingError) -> [TrackedLogs] {
        defer { reader.shrink(to: Self.keptBytes) }
        do throws(ProtobufError) {
            reader.writer.start(timing, rules)
            return try reader.push(body)
        } catch {
            throw LogDecodingError(position: error.position, reason: error.reason)
        }
    }
}
