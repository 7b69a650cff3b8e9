import Logs

/// Loki's pushes as protobuf.
enum LokiEntry: FuzzEntry {
    static let name = "loki"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = LokiDecoder(limits: Fixed.limits)
        let read = try readTwice(body) { body throws(LogDecodingError) in
            try decoder.decode(LogBody(body, Fixed.timing, Fixed.strict)).map(ReadGroup.init)
        }
        try read.keepsPromises(of: body)
        try read.hasEachStreamOnce()
    }
}

/// Loki's pushes as JSON.
enum LokiJSONEntry: FuzzEntry {
    static let name = "loki-json"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = JSONLogDecoder(limits: Fixed.limits)
        for rules in [Fixed.strict, Fixed.mending] {
            let read = try readTwice(body) { body throws(LogDecodingError) in
                try decoder.decodeLoki(LogBody(body, Fixed.timing, rules)).map(ReadGroup.init)
            }
            try read.keepsPromises(of: body)
            try read.hasEachStreamOnce()
        }
    }
}

extension Result where Success == [ReadGroup], Failure == LogDecodingError {
    fileprivate func hasEachStreamOnce() throws(Contradiction) {
        guard case .success(let groups) = self else { return }
        let streams = groups.map { group in
            GroupTrailer(tags: group.tags.map { (key: $0[0], value: $0[1]) })
        }
        try check(Set(streams).count == streams.count, "a stream is there twice: \(groups)")
        try check(streams.count <= Fixed.limits.streams, "too many streams")
    }
}

/// OpenTelemetry's requests as protobuf.
enum OTLPEntry: FuzzEntry {
    static let name = "otlp"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = OTLPDecoder(limits: Fixed.limits)
        try runOTLP(body) { body, rules, bytesMax throws(LogDecodingError) in
            try decoder.decode(LogBody(body, Fixed.timing, rules), atMost: bytesMax)
        }
    }
}

/// OpenTelemetry's requests as JSON.
enum OTLPJSONEntry: FuzzEntry {
    static let name = "otlp-json"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = JSONLogDecoder(limits: Fixed.limits)
        try runOTLP(body) { body, rules, bytesMax throws(LogDecodingError) in
            try decoder.decodeOTLP(LogBody(body, Fixed.timing, rules), atMost: bytesMax)
        }
    }
}

/// Once with room for what records repeat, and once without: no log is lost for that.
private func runOTLP(
    _ body: [UInt8],
    _ decode: (UnsafeRawBufferPointer, LogRules, Int) throws(LogDecodingError) -> [TrackedLogs]
) throws(Contradiction) {
    let rounds = [
        (Fixed.mending, 256 << 10), (Fixed.strict, 256 << 10), (Fixed.strict, 1 << 10),
        (Fixed.apart, 1 << 10),
    ]
    var counts: [Int] = []
    for (rules, bytesMax) in rounds {
        let read = try readTwice(body) { body throws(LogDecodingError) in
            try decode(body, rules, bytesMax).map(ReadGroup.init)
        }
        try read.keepsPromises(of: body)
        guard case .success(let groups) = read else { continue }
        let bytes = groups.reduce(0) { $0 + $1.logs.bytes }
        try check(bytes <= bytesMax, "\(bytes) bytes, where \(bytesMax) were allowed")
        counts.append(groups.reduce(0) { $0 + $1.logs.count })
    }
    try check(Set(counts).count <= 1, "how large it may be changes the logs: \(counts)")
}

/// Lists of LogGroups that are compressed one by one (`x-log-mode: batch_group`).
enum PackageEntry: FuzzEntry {
    static let name = "packages"

    private static let limit = InflateLimit(bytes: 64 << 10, ratio: 20, freeBytes: 8 << 10)

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = PutLogsDecoder(limits: Fixed.limits)
        let read = try readTwice(body) { body throws(LogDecodingError) in
            try decoder.decodePackages(LogBody(body, Fixed.timing, Fixed.strict), inflating: limit)
                .map(ReadGroup.init)
        }
        try read.keepsPromises(of: body)
        guard case .success(let groups) = read else { return }
        let logs = groups.reduce(0) { $0 + $1.logs.count }
        try check(logs <= Fixed.limits.logs, "\(logs) logs, which are too many")
        try check(groups.count <= Fixed.limits.packages, "too many packages")
    }
}

/// LogGroups of SLS's own SDKs.
enum PutLogsEntry: FuzzEntry {
    static let name = "putlogs"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = PutLogsDecoder(limits: Fixed.limits)
        for rules in [Fixed.strict, Fixed.apart] {
            let read = try readTwice(body) { body throws(LogDecodingError) in
                [ReadGroup(try decoder.decode(LogBody(body, Fixed.timing, rules)))]
            }
            try read.keepsPromises(of: body)
        }
        // A log that SLS would take as it is arrives as it is.
        guard let sent = SandboxReading(body) else { return }
        let larger = PutLogsDecoder()
        let tracked = exactly(body) { body in try? larger.decode(LogBody(body, Fixed.timing)) }
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

/// Events of Splunk's HTTP Event Collector.
enum SplunkEntry: FuzzEntry {
    static let name = "splunk"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = JSONLogDecoder(limits: Fixed.limits)
        for rules in [Fixed.strict, Fixed.apart, Fixed.mending] {
            let read = try readTwice(body) { body throws(SplunkFault) in
                try decoder.decodeSplunk(LogBody(body, Fixed.timing, rules))
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

/// Bodies of web tracking.
enum TrackingEntry: FuzzEntry {
    static let name = "tracking"

    /// The sandbox takes what is repeated, and reads one level deeper.
    private static let stricter = [
        "__logs__ may occur only once", "__tags__ may occur only once",
        "objects and arrays are nested deeper than 64",
    ]

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = JSONLogDecoder(limits: Fixed.limits)
        for (hasParts, rules) in [
            (false, Fixed.strict), (true, Fixed.strict), (true, Fixed.mending),
        ] {
            let read = try readTwice(body) { body throws(LogDecodingError) in
                let tracked = try decoder.decodeTracking(
                    LogBody(body, Fixed.timing, rules),
                    timeParts: hasParts
                )
                return [ReadGroup(tracked)]
            }
            try read.keepsPromises(of: body)
        }
        guard let count = SandboxReading.trackedCount(body) else { return }
        let larger = JSONLogDecoder()
        let read = Beyond.tempting.padded(body) { body in
            Result { () throws(LogDecodingError) in
                try larger.decodeTracking(LogBody(body, Fixed.timing))
            }
        }
        switch read {
        case .success(let tracked):
            try check(tracked.logs.count == count, "\(tracked.logs.count) logs, not \(count)")
        case .failure(let error):
            try check(stricter.contains(error.reason), "refused, where others see logs: \(error)")
        }
    }
}

/// Text, a log a line.
enum LineEntry: FuzzEntry {
    static let name = "lines"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = LineLogDecoder(limits: Fixed.limits)
        let read = try readTwice(body) { body throws(LogDecodingError) in
            [ReadGroup(try decoder.decode(LogBody(body, Fixed.timing, Fixed.strict)))]
        }
        try read.keepsPromises(of: body)
        guard case .success(let groups) = read else { return }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = body.starts(with: mark) ? body.dropFirst(mark.count) : body[...]
        let lines = text.split(separator: UInt8(ascii: "\n")).count { $0 != [UInt8(ascii: "\r")] }
        try check(groups[0].logs.count == lines, "\(groups[0].logs.count) logs of \(lines) lines")
    }
}

/// JSON as devices post it.
enum PlainEntry: FuzzEntry {
    static let name = "json"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = JSONLogDecoder(limits: Fixed.limits)
        for rules in [Fixed.strict, Fixed.apart] {
            let logs = try readTwice(body) { body throws(LogDecodingError) in
                [
                    ReadGroup(
                        try decoder.decodePlain(LogBody(body, Fixed.timing, rules), timeField: "ts")
                    )
                ]
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
                [ReadGroup(try decoder.decodePlain(LogBody(body, Fixed.timing, rules)))]
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
            Result { () throws(LogDecodingError) in
                try decoder.decodePlain(LogBody(body, Fixed.timing))
            }
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

/// Compressed bodies. The first byte chooses the coding and whether the size is told; then the next
/// two are the size.
enum InflateEntry: FuzzEntry {
    static let name = "inflate"

    private static let limit = InflateLimit(bytes: 64 << 10, ratio: 20, freeBytes: 8 << 10)

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        guard bytes.count > 3 else { return }
        let codings = ContentCoding.allCases
        let coding = codings[Int(bytes[0] & 0x7F) % codings.count]
        let size = bytes[0] < 0x80 ? nil : Int(bytes[1]) | Int(bytes[2]) << 8
        let body = Array(bytes[(size == nil ? 1 : 3)...])
        let inflater = Inflater()
        let read = try inflateTwice(inflater, body, coding, size)
        guard case .success(let content) = read else { return }
        let allowance = min(limit.bytes, max(limit.freeBytes, body.count * limit.ratio))
        try check(content.count <= allowance, "\(content.count) bytes of \(body.count)")
        try check(size == nil || content.count == size, "another size than was told")
        try check(inflater.producedBytes >= 2 * content.count, "work that is not counted")
        try comesBack(content)
    }

    private static func inflateTwice(
        _ inflater: Inflater,
        _ body: [UInt8],
        _ coding: ContentCoding,
        _ size: Int?
    ) throws(Contradiction) -> Result<[UInt8], InflateError> {
        let readings = (0..<2).map { _ in
            exactly(body) { body in
                Result { () throws(InflateError) in
                    let content = try inflater.inflate(body, coding, rawBytes: size, limit: limit)
                    // The bytes behind it are readable.
                    let readable = UnsafeRawBufferPointer(
                        start: content.baseAddress,
                        count: content.count + 64
                    )
                    _ = readable.reduce(0) { $0 &+ Int($1) }
                    return Array(content)
                }
            }
        }
        try check(readings[0] == readings[1], "one body inflates to two: \(readings)")
        return readings[0]
    }

    private static func comesBack(_ content: [UInt8]) throws(Contradiction) {
        let inflater = Inflater()
        for (coding, body) in [
            (ContentCoding.lz4, LZ4.compress(content)), (.deflate, Deflate.compress(content)),
            (.zstd, Zstd.compress(content)),
        ] {
            let back = exactly(body) { body in
                (try? inflater.inflate(body, coding, rawBytes: content.count, limit: .init()))
                    .map { Array($0) }
            }
            try check(back == content, "\(coding) gives back something else")
        }
    }
}
