import Logs

/// LogGroups of SLS's own SDKs.
enum PutLogsEntry: FuzzEntry {
    static let name = "putlogs"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = PutLogsDecoder(limits: Fixed.limits)
        for rules in [Fixed.strict, Fixed.apart] {
            let read = try readTwice(body) { body throws(LogDecodingError) in
                [ReadGroup(try decoder.decode(body, Fixed.timing, rules))]
            }
            try read.keepsPromises(of: body)
        }
        // A log that SLS would take as it is arrives as it is.
        guard let sent = SandboxReading(body) else { return }
        let larger = PutLogsDecoder()
        let tracked = exactly(body) { body in try? larger.decode(body, Fixed.timing) }
        guard let tracked, let arrived = SandboxReading(ReadGroup(tracked).group) else {
            throw Contradiction(description: "SLS would take the group, and it does not arrive")
        }
        try check(sent.withoutRepetitions == arrived, "\(sent) arrives as \(arrived)")
    }
}

extension SandboxReading {
    /// Of fields of one name the last one counts.
    fileprivate var withoutRepetitions: SandboxReading {
        SandboxReading(
            topic: topic,
            source: source,
            logs: logs.map { log in
                var fields: [Field] = []
                for field in log.fields {
                    fields.removeAll { $0.name == field.name }
                    fields.append(field)
                }
                return Log(seconds: log.seconds, nanoseconds: log.nanoseconds, fields: fields)
            }
        )
    }
}
