import Logs

/// Events of Splunk's HTTP Event Collector.
enum SplunkEntry: FuzzEntry {
    static let name = "splunk"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = JSONLogDecoder(limits: Fixed.limits)
        for rules in [Fixed.strict, Fixed.mending] {
            let read = try readTwice(body) { body throws(SplunkFault) in
                try decoder.decodeSplunk(body, Fixed.timing, rules)
            }
            try keepsPromises(read, of: body)
        }
    }

    private static func keepsPromises(
        _ read: Result<[SplunkEvents], SplunkFault>,
        of body: [UInt8]
    ) throws(Contradiction) {
        switch read {
        case .failure(let fault): try fault.cause.isInside(body)
        case .success(let events):
            try check(!events.isEmpty, "a body without events is refused")
            try check(events.count <= Fixed.limits.streams, "too many origins")
            for event in events { try ReadGroup(event.logs).keepsPromises() }
            let firsts = events.map(\.first)
            try check(firsts == firsts.sorted(), "origins are not in their order: \(firsts)")
        }
    }
}
