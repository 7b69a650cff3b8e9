import Configuration
import Ingest
import JSON
import Logs
import Routing

/// The answer to `POST /admin/routes/test`: findings in order of filters.
struct RouteAnswer {
    typealias Fields = [(name: String, value: String)]

    /// A filter under one tag. Where logs change their tags, a filter may be here with several.
    struct AppliedFilter {
        let index: Int
        let tag: String
        let captured: String
        /// In order of the steps; those that no log got to are left out.
        var steps: [(step: Int, logs: [(log: Int, trace: FilterTrace.Step)])] = []
    }

    /// Definitions of filters are repeated, which a large configuration could make long.
    private static let filterBytesMax = 2 << 20

    let findings: RouteFindings
    let filters: [AppliedFilter]

    init(_ findings: RouteFindings) {
        self.findings = findings
        var filters = findings.filters.map {
            AppliedFilter(index: $0.index, tag: findings.tag, captured: $0.captured ?? "")
        }
        var places: [String: Int] = [:]
        for (place, filter) in filters.enumerated() {
            places["\(filter.index) \(filter.tag)"] = place
        }
        for (number, log) in findings.logs.enumerated() {
            for step in log.steps {
                let key = "\(step.filter) \(step.tag)"
                let place = places[key] ?? filters.count
                if place == filters.count {
                    places[key] = place
                    filters.append(
                        AppliedFilter(index: step.filter, tag: step.tag, captured: step.captured)
                    )
                }
                filters[place].add(step, number)
            }
        }
        self.filters = filters
    }

    func rule(_ filter: AppliedFilter) -> Filter { findings.rules.filters[filter.index] }

    // MARK: - JSON

    var document: String {
        var json = JSONWriter()
        json.object { $0.members(self) }
        return json.text + "\n"
    }

    fileprivate func write(_ json: inout JSONWriter) {
        json.member("tag", findings.tag)
        var left = 0
        json.array("filters") { json in
            for filter in filters {
                guard json.bytes.count < Self.filterBytesMax else {
                    left += 1
                    continue
                }
                json.object { write(filter, &$0) }
            }
        }
        json.objects("results", findings.logs) { $0.result($1) }
        json.objects("near_misses", findings.nearMisses) { json, miss in
            json.member("match", miss.match)
            json.member("why", miss.why)
        }
        json.array("notes") { json in
            for note in findings.notes { json.element(note) }
            if left > 0 { json.element("\(left) more filters are left out; test fewer logs") }
        }
    }

    private func write(_ filter: AppliedFilter, _ json: inout JSONWriter) {
        let rule = rule(filter)
        json.member("filter", filter.index)
        json.member("name", rule.name)
        json.member("tag", filter.tag)
        json.member("captured", filter.captured)
        json.objects("steps", filter.steps) { json, each in
            json.member("step", each.step)
            json.object("does") { $0.step(rule.steps[each.step]) }
            json.objects("logs", each.logs) { $0.trace($1.trace, $1.log) }
        }
    }
}

extension RouteAnswer.AppliedFilter {
    fileprivate mutating func add(_ trace: FilterTrace.Step, _ log: Int) {
        let place = steps.firstIndex { $0.step >= trace.step } ?? steps.count
        if place == steps.count || steps[place].step != trace.step {
            steps.insert((trace.step, []), at: place)
        }
        steps[place].logs.append((log, trace))
    }
}

extension JSONWriter {
    /// Within an object.
    mutating func members(_ answer: RouteAnswer) { answer.write(&self) }

    fileprivate mutating func trace(_ trace: FilterTrace.Step, _ log: Int) {
        member("log", log)
        member("effect", trace.effect.name)
        switch trace.effect {
        case .tagged(let tag): member("tag", tag)
        case .split(let count): member("logs", count)
        case .failed(let reason, let onError):
            member("reason", reason)
            member("on_error", onError.rawValue)
        default: break
        }
        fields("before", trace.before)
        fields("after", trace.after)
    }

    fileprivate mutating func result(_ log: RouteFindings.Log) {
        member("tag", log.tag)
        fields("fields", log.fields)
        texts("routes", log.routes.map { "routes[\($0)]" })
        objects("destinations", log.places) { json, place in
            json.member("name", place.destination)
            json.member("logstore", place.logstore)
            json.member("topic", place.topic)
            json.member("outcome", place.outcome.rawValue)
            json.member("why", place.why)
        }
        member("dropped_by", log.droppedBy)
        problem("dead_letter", log.deadLetter.map { ($0.code, $0.message) })
        problem("refused", log.refusal.map { ($0.code, $0.reason) })
    }

    private mutating func problem(_ name: String, _ problem: (code: String, message: String)?) {
        object(name, ifAny: problem) { json, problem in
            json.member("code", problem.code)
            json.member("message", problem.message)
        }
    }

    private mutating func fields(_ name: String, _ fields: RouteAnswer.Fields) {
        object(name) { json in for field in fields { json.member(field.name, field.value) } }
    }
}

extension FilterTrace.Effect {
    fileprivate var name: String {
        switch self {
        case .changed: "changed"
        case .unchanged: "unchanged"
        case .skipped: "skipped"
        case .dropped: "dropped"
        case .sampledOut: "sampled_out"
        case .tagged: "tagged"
        case .split: "split"
        case .failed: "failed"
        }
    }
}
