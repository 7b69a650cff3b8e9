import Crypto
import Logs

@testable import Routing

/// Filters for a test, applied to logs of plain texts.
struct FilterBench {
    typealias Fields = [(String, String)]

    let filter: LogFilter
    let plans: TagPlans
    let counters = FilterCounters()

    init(_ filters: [Filter], limits: LogLimits = LogLimits(), secret: String? = "key") throws {
        var rules = RoutingRules()
        rules.filters = filters
        rules.secret = secret.map { Secret($0) }
        let router = try Router(rules)
        plans = TagPlans(router)
        filter = LogFilter(router, plans, limits: limits, counters: counters)
    }

    /// One filter for all tags.
    init(
        _ steps: FilterStep...,
        onError: Filter.OnError = .keep,
        limits: LogLimits = LogLimits(),
        secret: String? = "key"
    ) throws {
        var filter = Filter(name: "test", steps: steps)
        filter.onError = onError
        try self.init([filter], limits: limits, secret: secret)
    }

    func apply(
        _ logs: [Fields],
        tag: String = "app",
        sender: SenderText = SenderText(),
        trace: FilterTrace? = nil
    ) throws -> FilteredLogs {
        let encoded = Self.encoded(logs)
        filter.begin(sender, logBytes: encoded.bytes.count)
        return try filter.apply(to: encoded, plans.plan(for: tag), trace: trace)
    }

    /// What becomes of one log, `name=value` each; nil when it is not kept.
    func result(_ fields: Fields, tag: String = "app") throws -> [String]? {
        try apply([fields], tag: tag).kept.first?.fields
    }

    static func encoded(_ logs: [Fields]) -> EncodedLogs {
        var encoded = EncodedLogs()
        for (index, fields) in logs.enumerated() {
            let time = LogTime(seconds: UInt32(index), nanoseconds: UInt32(index % 2 * 7))
            encoded.append(time: time, fields: fields.map { (key: $0.0, value: $0.1) })
        }
        return encoded
    }
}

extension FilteredLogs {
    struct Kept: Equatable {
        let tag: String
        let fields: [String]
    }

    var kept: [Kept] {
        groups.flatMap { group in
            group.logs.texts.map { Kept(tag: group.plan.tag, fields: $0) }
        }
    }
}

extension EncodedLogs {
    var entries: [LogEntry] {
        bytes.withUnsafeBytes { bytes in
            var entries = LogEntries(bytes)
            var found: [LogEntry] = []
            while let range = try? entries.next() {
                let entry = UnsafeRawBufferPointer(rebasing: bytes[range])
                if let entry = try? LogEntry(entry) { found.append(entry) }
            }
            return found
        }
    }

    var texts: [[String]] { entries.map { $0.fields.map { "\($0.key)=\($0.value)" } } }
}
