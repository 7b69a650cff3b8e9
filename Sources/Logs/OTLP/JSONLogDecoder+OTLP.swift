extension JSONLogDecoder {
    /// Reads logs of the OpenTelemetry Protocol as JSON, and writes what `OTLPDecoder` does: names in
    /// lowerCamelCase only, ids in hexadecimal digits, enumerations as numbers. The body must have 64
    /// readable bytes after its end.
    ///
    /// `bytesMax` bounds what all logs together become: each repeats what its resource says.
    package func decodeOTLP(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        atMost bytesMax: Int = .max
    ) throws(LogDecodingError) -> DecodedLogs {
        try decode(body, timing, rules, lenientTimes: true) { walk throws(JSONFault) in
            var texts = OTLPTexts()
            texts.startRequest(atMost: bytesMax)
            try walk.otlpRequest(&texts)
            return walk.writer.logs
        }
    }
}
