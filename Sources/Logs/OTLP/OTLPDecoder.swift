/// Reads logs of the OpenTelemetry Protocol as protobuf: one `ExportLogsServiceRequest`. One for each
/// thread: it keeps its scratch memory. `JSONLogDecoder.decodeOTLP` reads the same as JSON.
///
/// What cannot be protobuf of this schema is refused with its place. Unknown fields are skipped. What a
/// log may be is the writer's to say: one bad log costs neither its request nor its neighbours.
///
/// - A log's time is `time_unix_nano`, else `observed_time_unix_nano`, else its arrival.
/// - Text that is not UTF-8 is repaired, and the log says so.
/// - Of a message that may be there once, the last one counts.
package final class OTLPDecoder {
    /// What stays allocated between bodies.
    static let keptBytes = 256 << 10

    private var walk: OTLPWalk

    package init(limits: LogLimits = LogLimits()) {
        walk = OTLPWalk(limits: limits)
    }

    /// `bytesMax` bounds what all logs together become: each repeats what its resource says.
    package func decode(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        atMost bytesMax: Int = .max
    ) throws(LogDecodingError) -> DecodedLogs {
        defer {
            walk.writer.shrink(to: Self.keptBytes)
            walk.texts.memory.shrink(to: Self.keptBytes)
        }
        do throws(ProtobufError) {
            walk.texts.startRequest(atMost: bytesMax)
            walk.writer.start(timing, rules)
            try walk.request(body)
            return walk.writer.logs
        } catch {
            throw LogDecodingError(position: error.position, reason: error.reason)
        }
    }
}
