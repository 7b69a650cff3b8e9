/// Reads logs of the OpenTelemetry Protocol as protobuf: one `ExportLogsServiceRequest`. There is
/// one for each thread: it keeps its scratch memory. `JSONLogDecoder.decodeOTLP` reads the same as
/// JSON.
///
/// Bytes that cannot be protobuf of this schema are refused with their position. Unknown fields are
/// skipped. The writer decides what a log may be: one bad log costs neither its request nor its
/// neighbours.
///
/// - A log's time is `time_unix_nano`, else `observed_time_unix_nano`, else its arrival.
/// - Text that is not UTF-8 is repaired, and the log says so.
/// - If a message that may occur once occurs again, the last one counts.
package final class OTLPDecoder {
    /// The memory that stays allocated between bodies.
    private static let keptBytes = 256 << 10

    private var reader: OTLPProtobufReader

    package init(limits: LogLimits = LogLimits()) {
        reader = OTLPProtobufReader(limits: limits)
    }

    /// `bytesMax` bounds what all logs together become, each with what its resource says. A request
    /// that would be more is read again: then logs that share much have it as tags, in a group of
    /// their own. With `byService`, each service's logs are a group.
    package func decode(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        atMost bytesMax: Int = .max,
        byService: Bool = false
    ) throws(LogDecodingError) -> [TrackedLogs] {
        defer { reader.shrink(to: Self.keptBytes) }
        return try OTLPForm.wholeElseLean { form throws(LogDecodingError) in
            try read(body, timing, rules, form, bytesMax, byService)
        }
    }

    private func read(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules,
        _ form: OTLPForm,
        _ bytesMax: Int,
        _ byService: Bool
    ) throws(LogDecodingError) -> [TrackedLogs] {
        do throws(ProtobufError) {
            reader.start(timing, rules, form, atMost: bytesMax, byService: byService)
            return try reader.request(body)
        } catch {
            throw LogDecodingError(
                position: error.position,
                reason: error.reason,
                kind: reader.texts.isTooLarge ? .tooLarge : .unreadable
            )
        }
    }
}
