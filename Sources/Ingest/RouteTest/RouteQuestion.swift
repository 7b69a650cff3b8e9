package import Logs
package import Routing

/// Logs whose way through filters and routes is asked for.
package struct RouteQuestion: Sendable {
    package static let logsMax = 100
    package static let bytesMax = 256 << 10
    package static let tagRule =
        "a tag has 1 to \(TagText.bytes.upperBound) bytes of UTF-8 "
        + "without control characters"

    package let tag: String
    /// Each is a JSON object. None stands for one log without fields.
    package var logs: [[UInt8]] = []
    package var topic: String?
    package var source: String?
    /// For the templates of filters.
    package var clientIP = ""
    package var receipt = ""
    /// For the conditions of filters.
    package var request: AskedRequest?
    /// The name of a device's key. Its destinations bound the routes.
    package var key: String?
    /// For a captured request: its sender's further bounds, and how it addressed and labelled each
    /// log. nil in place of labels: they are not kept.
    var rights: Set<String>?
    var host: String?
    var project: String?
    var labels: [CaptureRecord.Group?] = []

    /// nil: the text cannot be a tag.
    package init?(tag: String) {
        guard TagText.isSound(tag) else { return nil }
        self.tag = tag
    }

    /// A tag that a request had already.
    init(known tag: String) { self.tag = tag }

    func labels(ofLog number: Int) -> CaptureRecord.Group {
        if labels.indices.contains(number), let own = labels[number] { return own }
        return CaptureRecord.Group(
            address: .tag(tag),
            tag: tag,
            topic: topic,
            fallbackTopic: tag,
            source: source,
            tags: []
        )
    }
}

/// What filters and routes do with the logs of a question.
package struct RouteFindings {
    package struct Place {
        package enum Outcome: String, Sendable, CaseIterable {
            case stored
            case deadLetter = "dead_letter"
            /// `late_logs: drop` of the destination.
            case dropped
            /// A matching route names the destination, and yet the log does not go there.
            case passedOver = "passed_over"
        }

        package let destination: String
        /// nil for a destination that has no logstores, and for one that was passed over.
        package var logstore: String?
        /// Behind the redactions of the filters; nil: there is none, or the destination was passed
        /// over.
        package var topic: String?
        package let outcome: Outcome
        package let why: String
    }

    package struct Log {
        /// The tag and fields behind the filters; of a dropped log before the drop.
        package var tag: String
        package var fields: [(name: String, value: String)] = []
        package var steps: [FilterTrace.Step] = []
        /// The numbers of the routes that take the tag.
        package var routes: [Int] = []
        package var places: [Place] = []
        /// A filter's name, `routes[2]`, or `unrouted`.
        package var droppedBy: String?
        /// It was a filter, so that the log never came to the routes.
        package var isFiltered = false
        /// Why the filters gave the log up.
        package var deadLetter: LogFault?
        /// Why a request with this log would be refused.
        package var refusal: Refusal?
    }

    package let rules: RoutingRules
    package let tag: String
    /// The filters that match this tag.
    package let filters: [(index: Int, captured: String?)]
    package let logs: [Log]
    package let nearMisses: [(match: String, why: String)]
    /// What a reader of the findings must know to understand them.
    package let notes: [String]

    /// `standsIn`: hashes are made with a random key.
    static func notes(
        _ rules: RoutingRules,
        _ logs: [Log],
        _ trace: FilterTrace,
        standsIn: Bool
    ) -> [String] {
        var notes: [String] = []
        if rules.isEmpty { notes.append("the configuration has neither filters nor routes") }
        if standsIn {
            notes.append(
                "hashes are made with a random key, because this token may only read; only a token with "
                    + "role full sees those of filters_secret"
            )
        }
        let isByChance = logs.contains { log in
            log.steps.contains { step in
                guard
                    case .sample(let sampling) = rules.filters[step.filter].steps[step.step].action
                else { return false }
                return sampling.field == nil && step.effect != .skipped
            }
        }
        if isByChance {
            notes.append("sample without `by` goes by chance, so the next test may differ")
        }
        if trace.isCut {
            notes.append(
                "steps and fields beyond \(FilterTrace.bytesMax >> 20) MiB are left out; test fewer logs"
            )
        }
        return notes
    }
}
