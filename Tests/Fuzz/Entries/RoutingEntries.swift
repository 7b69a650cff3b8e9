import Logs

@testable import Routing

/// A tag pattern, a line break, and a tag.
enum TagPatternEntry: FuzzEntry {
    static let name = "tag-pattern"
    static let bytesMax = 400

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        let (text, rest) = parts(bytes)
        let tag = String(decoding: rest, as: UTF8.self)
        let pattern: TagPattern
        do {
            pattern = try TagPattern(text)
        } catch {
            try check(0...text.utf8.count ~= error.position, "outside of the pattern: \(error)")
            return
        }
        let match = pattern.match(tag)
        if let captured = match?.captured {
            try check(
                captured.utf8.count <= tag.utf8.count,
                "captured more than the tag: \(captured)"
            )
        }
        guard let automaton = TagAutomaton([pattern]) else {
            throw Contradiction(description: "one pattern needs too many states")
        }
        var isFound = false
        Array(tag.utf8).withUnsafeBufferPointer { automaton.matches($0) { _ in isFound = true } }
        try check(isFound == (match != nil), "the automaton says \(isFound)")
        if match != nil { try check(pattern.nearMiss(tag) == nil, "near, although it matches") }
    }
}

/// A regular expression, a line break, and a text.
enum TextPatternEntry: FuzzEntry {
    static let name = "text-pattern"
    static let bytesMax = 400

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        let (expression, text) = parts(bytes)
        let pattern: TextPattern
        do {
            pattern = try TextPattern(expression)
        } catch {
            let isInside = 0...expression.utf8.count ~= error.position
            try check(isInside, "outside of the pattern: \(error)")
            return
        }
        try exactly(text) { text throws(Contradiction) in
            let text = text.bindMemory(to: UInt8.self)
            let found = pattern.find(in: text, from: 0)
            try check(pattern.isMatch(text) == (found != nil), "isMatch and find disagree")
            var ranges: [Range<Int>?] = []
            let hasGroups = pattern.groups(in: text, into: &ranges)
            try check(hasGroups == (found != nil), "groups and find disagree")
            guard let found else { return }
            try check(
                0 <= found.lowerBound && found.upperBound <= text.count,
                "\(found) is outside"
            )
            try check(ranges.first == found && ranges.count == pattern.groupCount + 1, "\(ranges)")
            for case let range? in ranges {
                let isInside =
                    found.lowerBound <= range.lowerBound && range.upperBound <= found.upperBound
                try check(isInside, "group \(range) is outside of \(found)")
            }
            if let later = pattern.find(in: text, from: found.upperBound) {
                try check(later.lowerBound >= found.upperBound, "\(later) is in front of `from`")
            }
        }
    }
}

private func parts(_ bytes: [UInt8]) -> (pattern: String, text: [UInt8]) {
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
    return (String(decoding: line, as: UTF8.self), Array(bytes.dropFirst(line.count + 1)))
}

/// Logs that pass filters: encoded ones, or lines of `name=value` with tabs between them.
enum FilterEntry: FuzzEntry {
    static let name = "filters"

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        guard let router = try? Router(rules()) else {
            throw Contradiction(description: "the filters are none")
        }
        let first = try filtered(logs(bytes), router)
        try check(first == (try filtered(logs(bytes), router)), "two readings differ")
    }

    private static func rules() throws -> RoutingRules {
        var rules = RoutingRules()
        let everything = [FieldPattern("*")]
        var filter = Filter(
            name: "F",
            steps: [
                FilterStep(.parse(Parsing(field: "j", .json, prefix: "j_", removesSource: true))),
                FilterStep(.parse(Parsing(field: "k", .keyValue))),
                FilterStep(
                    .set([Assignment(field: "s", value: try Template("{{field:a}}{{tag}}"))])
                ),
                FilterStep(.rename([Renaming(from: "a", to: "b"), Renaming(from: "b", to: "c")])),
                FilterStep(.remove([FieldPattern("x*y*")]), when: .field("n", .atLeast(3))),
                FilterStep(.split(Splitting(field: "i", as: "e", most: 20))),
                FilterStep(
                    .split(Splitting(field: "e", most: 20)),
                    when: .request(.query("q"), .isLike(["q"]))
                ),
                FilterStep(.time(field: "e", .iso)),
                FilterStep(.topic(try Template("{{field:e}}")), when: .field("e", .exists(true))),
                FilterStep(.source(try Template("{{field:n}}"))),
                FilterStep(.tag(try Template("t.{{field:t}}")), when: .field("t", .exists(true))),
                FilterStep(
                    .sample(Sampling(keep: 500_000, by: "b")),
                    when: .field("b", .exists(true))
                ),
            ]
        )
        filter.onError = .deadLetter
        let redactions = PersonalData.allCases.map { kind in
            FilterStep(.redact(Redaction(fields: everything, .known(kind), with: .text("<>"))))
        }
        rules.filters = [filter, Filter(name: "R", steps: redactions)]
        return rules
    }

    private static func logs(_ bytes: [UInt8]) -> EncodedLogs {
        guard bytes.first != 0x0A else {
            return EncodedLogs(bytes: bytes, count: max(1, count(bytes)))
        }
        var logs = EncodedLogs()
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: "\t")).map { pair in
                let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1)
                let texts = parts.map { String(decoding: $0, as: UTF8.self) }
                return (key: texts.first ?? "", value: texts.dropFirst().first ?? "")
            }
            logs.append(time: LogTime(seconds: 1), fields: fields)
        }
        return logs
    }

    private static func count(_ bytes: [UInt8]) -> Int { (try? LogEntries.count(bytes)) ?? 0 }

    /// All logs that leave, or nil for bytes that are no logs.
    private static func filtered(
        _ logs: EncodedLogs,
        _ router: Router
    ) throws(Contradiction) -> [EncodedLogs]? {
        let plans = TagPlans(router)
        let filter = LogFilter(router, plans)
        let length = logs.bytes.count
        filter.begin(
            SenderText { part in
                if case .query(let name) = part { Array(name.utf8) } else { nil }
            },
            logBytes: length
        )
        guard let result = try? filter.apply(to: logs, plans.plan(for: "app")) else {
            return nil
        }
        let all = result.groups.map(\.logs) + result.dead.map(\.logs.logs)
        let kept = all.reduce(0) { $0 + $1.count }
        try check(
            kept + result.dropped + result.sampledOut == logs.count + result.added,
            "a log is lost"
        )
        let size = all.reduce(0) { $0 + $1.bytes.count }
        try check(size <= 64 * (LogFilter.splitBytesFree + length), "split logs grow too much")
        for logs in all {
            try check(count(logs.bytes) == logs.count, "entries that are no logs")
            try check(isRedacted(logs), "personal data leaves")
        }
        return all
    }

    private static func isRedacted(_ logs: EncodedLogs) -> Bool {
        logs.bytes.withUnsafeBytes { bytes in
            var entries = LogEntries(bytes)
            while let range = try? entries.next() {
                let entry = try? LogEntry(UnsafeRawBufferPointer(rebasing: bytes[range]))
                for (_, value) in entry?.fields ?? [] {
                    let found = PersonalData.allCases.contains { kind in
                        Array(value.utf8).withUnsafeBufferPointer {
                            PersonalDataFinder($0).find(kind, from: 0) != nil
                        }
                    }
                    if found { return false }
                }
            }
            return true
        }
    }
}
