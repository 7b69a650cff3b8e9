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

    /// `bytesMax` bounds what all logs together become, each with what its resource says. A request that
    /// would be more is read again: then logs that share much have it as tags, in a group of their own.
    package func decode(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        atMost bytesMax: Int = .max
    ) throws(LogDecodingError) -> [TrackedLogs] {
        defer {
            walk.writer.shrink(to: Self.keptBytes)
            walk.texts.shrink(to: Self.keptBytes)
        }
        return try OTLPForm.wholeElseLean { form throws(LogDecodingError) in
            try read(body, timing, rules, form, bytesMax)
        }
    }

    private func read(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules,
        _ form: OTLPForm,
        _ bytesMax: Int
    ) throws(LogDecodingError) -> [TrackedLogs] {
        do throws(ProtobufError) {
            walk.texts.startRequest(form, atMost: bytesMax)
            walk.writer.start(timing, rules)
            return try walk.request(body)
        } catch {
            throw LogDecodingError(
                position: error.position,
                reason: error.reason,
                kind: walk.texts.isTooLarge ? .tooLarge : .unreadable
            )
        }
    }
}
