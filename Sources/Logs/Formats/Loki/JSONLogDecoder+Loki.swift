extension JSONLogDecoder {
    /// Reads a push of Loki as JSON: `{"streams":[{"stream":{…labels},"values":[["ns","line",{…}]]}]}`. Of what is
    /// read `LokiDecoder` says more; the body must have 64 readable bytes after its end.
    package func decodeLoki(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules()
    ) throws(LogDecodingError) -> [TrackedLogs] {
        try decode(body, timing, rules, lenientTimes: true) { walk throws(JSONFault) in
            walk.takesTimes = false
            defer { walk.takesTimes = true }
            return try walk.lokiPush()
        }
    }
}
