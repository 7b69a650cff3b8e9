extension JSONLogDecoder {
    /// Reads events of Splunk's HTTP Event Collector, one after the other or in arrays: each is a log. The body must
    /// have 64 readable bytes after its end.
    package func decodeSplunk(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules()
    ) throws(SplunkFault) -> [SplunkEvents] {
        var gathering: SplunkGathering?
        var reason: JSONFault.Reason?
        do throws(LogDecodingError) {
            try decode(body, timing, rules, lenientTimes: true) { walk throws(JSONFault) in
                var read = SplunkGathering(walk.limits)
                do throws(JSONFault) {
                    try walk.splunkEvents(&read)
                } catch {
                    reason = error.reason
                    gathering = read
                    throw error
                }
                gathering = read
            }
        } catch {
            let isEmpty = body.allSatisfy { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
            throw SplunkFault(
                kind: isEmpty ? .noData : .init(reason),
                event: gathering?.count,
                cause: error
            )
        }
        let events = gathering?.events ?? []
        guard !events.isEmpty else {
            let cause = LogDecodingError(position: 0, reason: "the body has no event")
            throw SplunkFault(kind: .noData, event: nil, cause: cause)
        }
        return events
    }
}
