import Configuration
import Ingest
import JSON
import Logs
import Routing
import System

extension RouteAnswer {
    private static let linesMax = 5_000

    /// The answer for people.
    var text: String {
        var lines = ["tag          \(TerminalText.shown(findings.tag))"]
        if filters.isEmpty, !findings.rules.filters.isEmpty {
            lines.append("filters      none matches")
        }
        for filter in filters where lines.count < Self.linesMax { lines += text(of: filter) }
        for (number, log) in findings.logs.enumerated() where lines.count < Self.linesMax {
            lines += text(of: log, number)
        }
        for (index, miss) in findings.nearMisses.enumerated() {
            let head = index == 0 ? ["", "near misses  "] : ["             "]
            lines += head.dropLast() + [head[head.count - 1] + TerminalText.sentence(miss.why)]
        }
        if lines.count >= Self.linesMax { lines.append("… test fewer logs, or see --json") }
        for note in findings.notes { lines += ["", "note         \(note)"] }
        return lines.joined(separator: "\n") + "\n"
    }

    private func text(of filter: AppliedFilter) -> [String] {
        let rule = rule(filter)
        let place = "filters[\(filter.index)]"
        var head = rule.name == place ? place : "\(rule.name) (\(place))"
        if filter.tag != findings.tag { head += " with the tag \(TerminalText.shown(filter.tag))" }
        if !filter.captured.isEmpty { head += " captured \(TerminalText.shown(filter.captured))" }
        var lines = ["", "filter       \(head)"]
        for (step, logs) in filter.steps {
            var json = JSONWriter()
            json.object { $0.step(rule.steps[step]) }
            lines.append("  step \(step)     \(TerminalText.sentence(json.text, scalarsMax: 400))")
            for (number, trace) in logs {
                lines.append("    log \(number)    \(trace.effect.sentence)")
                lines += trace.before.map { "             - \(shown($0))" }
                lines += trace.after.map { "             + \(shown($0))" }
            }
        }
        return lines
    }

    private func text(of log: RouteFindings.Log, _ number: Int) -> [String] {
        let tag = log.tag == findings.tag ? "" : " with the tag \(TerminalText.shown(log.tag))"
        let fields = log.fields.map { shown($0) }.joined(separator: " ")
        var lines = ["", "log \(number)        \(fields.isEmpty ? "no fields" : fields)\(tag)"]
        if let refusal = log.refusal {
            lines.append("  refused    \(TerminalText.sentence(refusal.reason)) (\(refusal.code))")
        }
        if let name = log.droppedBy { lines.append("  dropped    by \(name)") }
        if let fault = log.deadLetter, log.places.allSatisfy({ $0.outcome != .deadLetter }) {
            lines.append("  dead       \(TerminalText.sentence(fault.message)) (\(fault.code))")
        }
        for place in log.places {
            let mark =
                switch place.outcome {
                case .stored: "  goes to    "
                case .deadLetter: "  dead in    "
                case .dropped: "  dropped at "
                case .passedOver: "  not to     "
                }
            var name = place.destination
            if let logstore = place.logstore { name += "/\(TerminalText.shown(logstore))" }
            if let topic = place.topic { name += " topic=\(TerminalText.shown(topic))" }
            lines.append("\(mark)\(name): \(TerminalText.sentence(place.why))")
        }
        return lines
    }

    private func shown(_ field: (name: String, value: String)) -> String {
        "\(TerminalText.shown(field.name))=\(TerminalText.shown(field.value))"
    }
}

extension FilterTrace.Effect {
    fileprivate var sentence: String {
        switch self {
        case .changed: "changed"
        case .unchanged: "unchanged"
        case .skipped: "skipped: the condition does not hold"
        case .dropped: "dropped"
        case .sampledOut: "sampled out"
        case .tagged(let tag): "has the tag \(TerminalText.shown(tag)) from here on"
        case .split(let count): "becomes \(count) logs, which follow one after the other"
        case .failed(let reason, let onError):
            switch onError {
            case .keep: "failed: \(reason); stays as it was (on_error: keep)"
            case .drop: "failed: \(reason); dropped (on_error: drop)"
            case .deadLetter: "failed: \(reason); becomes a dead letter (on_error: dead_letter)"
            }
        }
    }
}
