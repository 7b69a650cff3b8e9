import JSON
import Logs

/// JSON as devices post it.
enum PlainEntry: FuzzEntry {
    static let name = "json"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = JSONLogDecoder(limits: Fixed.limits)
        for rules in [Fixed.strict, Fixed.apart] {
            let logs = try readTwice(body) { body throws(LogDecodingError) in
                [ReadGroup(try decoder.decodePlain(body, Fixed.timing, rules, timeField: "ts"))]
            }
            try logs.keepsPromises(of: body)
        }
        try isMended(body, decoder)
        try isWhatOthersRead(body)
    }

    /// Sound bodies are read as ever, and others as nothing or with something good in them.
    private static func isMended(
        _ body: [UInt8],
        _ decoder: JSONLogDecoder
    ) throws(Contradiction) {
        func read(_ rules: LogRules) throws(Contradiction) -> Result<[ReadGroup], LogDecodingError>
        {
            try readTwice(body) { body throws(LogDecodingError) in
                [ReadGroup(try decoder.decodePlain(body, Fixed.timing, rules))]
            }
        }
        let mended = try read(Fixed.mending)
        try mended.keepsPromises(of: body)
        switch (try read(Fixed.strict), mended) {
        case (.success(let strict), .success(let groups)):
            try check(strict == groups, "a sound body is changed")
        case (.success, .failure(let error)):
            throw Contradiction(description: "a sound body is refused: \(error)")
        case (.failure, .success(let groups)):
            let logs = groups[0].logs
            try check(logs.count > logs.unreadable, "nothing of it is good, and it is taken")
            try check(
                logs.unreadable <= Fixed.limits.unreadable,
                "\(logs.unreadable) texts are set aside"
            )
        case (.failure, .failure): break
        }
    }

    /// Where the sandbox reads logs there are logs, with what it reads in them.
    private static func isWhatOthersRead(_ body: [UInt8]) throws(Contradiction) {
        guard let document = SandboxReading.json(body),
            let logs = PlainDocument(document)?.logs, !logs.isEmpty
        else { return }
        let decoder = JSONLogDecoder()
        let read = Beyond.tempting.padded(body) { body in
            Result { () throws(LogDecodingError) in try decoder.decodePlain(body, Fixed.timing) }
        }
        guard case .success(let decoded) = read else {
            throw Contradiction(description: "refused, where others see logs: \(read)")
        }
        try check(decoded.count == logs.count, "\(decoded.count) logs, not \(logs.count)")
        guard let seen = SandboxReading(ReadGroup(decoded).group) else {
            throw Contradiction(description: "what was written cannot be read")
        }
        for (log, expected) in zip(seen.logs, logs) {
            try check(log.fields.count == expected.count, "other fields: \(log), \(expected)")
            for (field, member) in zip(log.fields, expected) {
                try check(member.is(field), "\(field) is not \(member)")
            }
        }
    }
}
