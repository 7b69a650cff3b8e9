extension JSONLogDecoder {
    /// Reads logs of the OpenTelemetry Protocol as JSON, and writes what `OTLPDecoder` does: ids in
    /// hexadecimal digits, enumerations as numbers, names in lowerCamelCase or as the schema has them. The
    /// body must have 64 readable bytes after its end.
    ///
    /// `bytesMax` is that of `OTLPDecoder`.
    package func decodeOTLP(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        atMost bytesMax: Int = .max
    ) throws(LogDecodingError) -> [TrackedLogs] {
        try OTLPForm.wholeElseLean { form throws(LogDecodingError) in
            try decode(body, timing, rules, lenientTimes: true) { walk throws(JSONFault) in
                var texts = OTLPTexts()
                texts.startRequest(form, atMost: bytesMax)
                try walk.otlpRequest(&texts)
                return texts.finish(&walk.writer)
            }
        }
    }
}
