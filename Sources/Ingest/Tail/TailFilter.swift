package import HTTP
import Logs
import Queue
import System

/// The logs that a viewer wants to see, and how many of them a second.
package struct TailFilter: Sendable, Equatable {
    var destination: String?
    var logstore: String?
    /// The topic. It is the tag of `/logs/{tag}` unless the destination sets another.
    var topic: String?
    /// Tags and fields that a log must have, with a value if one is given.
    var tags: [Field] = []
    var fields: [Field] = []
    /// nil: all that match.
    var rate: Int?

    struct Field: Sendable, Equatable {
        var name: String
        var value: String?

        /// `NAME` or `NAME:VALUE`, with a value that may be empty.
        init?(_ text: String) {
            let sides = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = sides.first, !name.isEmpty else { return nil }
            self.name = String(name)
            value = sides.count == 2 ? String(sides[1]) : nil
        }

        fileprivate func isAmong(_ pairs: [(key: String, value: String)]) -> Bool {
            pairs.contains { key, value in key == name && (self.value ?? value) == value }
        }
    }

    static let fieldsMax = 8
    private static let rates = 1...100_000
    private static let known =
        "known: destination, logstore, topic, tag or field as NAME or NAME:VALUE, and rate"

    init() {}

    package init(_ head: RequestHead) throws(HTTPProblem) {
        func problem(_ reason: String) -> HTTPProblem {
            HTTPProblem(400, "ParameterInvalid", reason)
        }
        guard let pairs = head.queryPairs else { throw problem("the query cannot be read") }
        for (name, value) in pairs {
            switch name {
            case "destination": destination = value
            case "logstore": logstore = value
            case "topic": topic = value
            case "tag", "field":
                guard let wanted = Field(value), tags.count + fields.count < Self.fieldsMax else {
                    throw problem(
                        "at most \(Self.fieldsMax) tags and fields, each as NAME or NAME:VALUE"
                    )
                }
                if name == "tag" { tags.append(wanted) } else { fields.append(wanted) }
            case "rate":
                guard let number = Int(value), Self.rates.contains(number) else {
                    throw problem(
                        "rate cannot be \(clipped(value)); it is a number of logs a second, 1 to 100000"
                    )
                }
                rate = number
            default: throw problem("\(clipped(name)) is not a parameter here; \(Self.known)")
            }
        }
    }

    /// False when no log of the stream can match.
    func admits(_ stream: StreamKey) -> Bool {
        (destination ?? stream.destination) == stream.destination
            && (logstore ?? stream.logstore) == stream.logstore
            && (topic ?? stream.trailer.topic) == stream.trailer.topic
            && tags.allSatisfy { $0.isAmong(stream.trailer.tags) }
    }

    /// True when a log that `admits` has still to be read to know.
    var looksIntoLogs: Bool { !fields.isEmpty }

    func admits(_ entry: LogEntry) -> Bool {
        fields.allSatisfy { $0.isAmong(entry.fields) }
    }
}

/// Chooses which logs a viewer sees who wants so many a second: spread over all that come, not the
/// first of each second. For one thread.
struct TailSampler {
    /// What was left out: `shown` of `matched` logs in this time.
    struct Report: Equatable {
        let matched: Int
        let shown: Int
        let time: Duration
    }

    static let period: Duration = .seconds(1)
    /// Seconds of the rate that may come at once after a pause.
    private static let burst = 0.25

    private let rate: Double
    /// Logs that may be shown now, at most `rate * burst`.
    private var allowance: Double
    private var refilled: Moment
    private var periodStart: Moment
    private var (matched, shown) = (0, 0)

    init(rate: Int, now: Moment) {
        self.rate = Double(rate)
        allowance = max(1, self.rate * Self.burst)
        (refilled, periodStart) = (now, now)
    }

    /// The places of those that are shown among `count` logs that come now.
    mutating func choose(_ count: Int, _ now: Moment) -> [Int] {
        // Traffic without a loss needs no report.
        if matched == shown, now - periodStart >= Self.period { startPeriod(now) }
        allowance = min(
            max(1, rate * Self.burst),
            allowance + (now - refilled) / .seconds(1) * rate
        )
        refilled = now
        let chosen = min(count, Int(allowance))
        allowance -= Double(chosen)
        (matched, shown) = (matched + count, shown + chosen)
        // Logs that come all at once are spread, too.
        let offset = count > 1 ? Int.random(in: 0..<count) : 0
        return (0..<chosen).map { ($0 * count + offset) / chosen }
    }

    /// Starts the counts again, after a report.
    mutating func startPeriod(_ now: Moment) {
        (matched, shown, periodStart) = (0, 0, now)
    }

    /// When the next report is due; nil while nothing was left out.
    var nextReport: Moment? { matched > shown ? periodStart + Self.period : nil }

    /// The report, when it is due. It grows until the viewer has it; see `startPeriod`.
    func report(_ now: Moment) -> Report? {
        guard let nextReport, now >= nextReport else { return nil }
        return Report(matched: matched, shown: shown, time: now - periodStart)
    }
}
