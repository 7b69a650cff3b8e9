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
    private var reader: OTLPProtobufReader

    package init(limits: LogLimits = LogLimits()) {
        reader = OTLPProtobufReader(limits: limits)
    }

    /// `bytesMax` bounds what all logs together become, each with what its resource says. A request
    /// that would be more is read again: then logs that share much have it as tags, in a group of
    /// their own. With `byService`, each service's logs are a group.
    package func decode(
        _ body: LogBody,
        atMost bytesMax: Int = .max,
        byService: Bool = false
    ) throws(LogDecodingError) -> [TrackedLogs] {
        defer { reader.shrink() }
        return try OTLPForm.wholeElseLean { form throws(LogDecodingError) in
            reader.start(body, form, atMost: bytesMax, byService: byService)
            return try reader.request(body.bytes)
        }
    }
}

/// How the records of a request are written.
enum OTLPForm {
    /// As the Collector's exporter does: each record repeats what its resource and its scope say,
    /// and has a field for all that it might say.
    case whole
    /// For requests that would become too large that way. Texts that many records would repeat are
    /// their tags, and empty texts of a record are left out.
    case lean

    /// Reads a request in the whole form, and again in the lean one if that would be too large.
    static func wholeElseLean(
        _ read: (OTLPForm) throws(LogDecodingError) -> [TrackedLogs]
    ) throws(LogDecodingError) -> [TrackedLogs] {
        do throws(LogDecodingError) {
            return try read(.whole)
        } catch {
            guard error.kind == .tooLarge else { throw error }
            return try read(.lean)
        }
    }
}

enum OTLPMistake: FormatMistake {
    case integerExpected, numberExpected, booleanExpected
    case hexExpected, base64Expected
    case formerName, otherSignal, kindRepeated, disordered
    case tooLarge(Int)

    var kind: LogDecodingError.Kind {
        if case .tooLarge = self { .tooLarge } else { .unreadable }
    }

    var concernsRequest: Bool { kind == .tooLarge }

    var sentence: String {
        switch self {
        case .integerExpected:
            "OTLP has a whole number here that fits its type, in quotes or without"
        case .numberExpected: "OTLP has a number here, or \"NaN\", \"Infinity\" or \"-Infinity\""
        case .booleanExpected: "OTLP has true or false here"
        case .hexExpected: "the ids of traces and spans are hexadecimal digits, two for each byte"
        case .base64Expected: "bytesValue must be base64"
        case .formerName:
            "instrumentationLibraryLogs is how OTLP called scopeLogs before 0.15; update the exporter"
        case .otherSignal: "these are no logs; traces and metrics are not taken here"
        case .kindRepeated: "a value can be of one kind only"
        case .disordered:
            "too much stands in front of its key, its scope or its resource; write those first"
        case .tooLarge(let bytesMax):
            "the logs take more than \(bytesMax) bytes as they are stored; send smaller batches"
        }
    }
}
