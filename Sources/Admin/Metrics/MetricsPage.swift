import JSON
import Operations
import System

/// A page in Prometheus' text format: families with help and type, each followed by all of its
/// samples, as the format demands. A family without samples is left out.
struct MetricsPage {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    init() {}

    init(_ report: GatewayReport) {
        for part in FigureTable.parts { part.write(report, to: &self) }
    }

    mutating func write<Subject>(
        _ group: FigureGroup<Subject>,
        of subjects: FigureGroup<Subject>.Subjects,
        now: WallTime
    ) {
        // A subject's labels are the same in all families, and are written only once.
        let named = subjects.map { each in
            (labels: labelled(zip(group.labels, each.labels)), subject: each.subject)
        }
        for (figure, help) in group.figures {
            var samples = Samples(
                name: figure.name,
                header: "# HELP \(figure.name) \(escapedHelp(help))\n"
                    + "# TYPE \(figure.name) \(figure.kind.rawValue)\n"
            )
            for each in named { samples.add(figure.source, of: each.subject, each.labels, now) }
            text += samples.text
        }
    }
}

extension GatewayReport {
    var metrics: String { MetricsPage(self).text }
}

private struct Samples {
    let name: String
    /// Help and type, before the first sample.
    let header: String
    private(set) var text = ""

    init(name: String, header: String) {
        self.name = name
        self.header = header
    }

    mutating func add<Subject>(
        _ source: Figure<Subject>.Source,
        of subject: Subject,
        _ labels: String,
        _ now: WallTime
    ) {
        switch source {
        case .value(let value):
            if let value = value(subject, now) { add(value.figureText, labels) }
        case .values(let label, let values):
            for (name, value) in values(subject) {
                add(value.figureText, joined(labels, labelled([(label, name)])))
            }
        case .histogram(let histogram): add(histogram(subject), labels)
        }
    }

    private mutating func add(_ histogram: LatencyHistogram, _ labels: String) {
        var total = 0
        for (bound, count) in zip(histogram.bounds.map { "\($0)" } + ["+Inf"], histogram.counts) {
            total += count
            add("\(total)", joined(labels, "le=\"\(bound)\""), suffix: "_bucket")
        }
        add(decimalSeconds(histogram.sum), labels, suffix: "_sum")
        add("\(total)", labels, suffix: "_count")
    }

    private mutating func add(_ value: String, _ labels: String, suffix: String = "") {
        if text.isEmpty { text = header }
        text += name
        text += suffix
        if !labels.isEmpty {
            text += "{"
            text += labels
            text += "}"
        }
        text += " "
        text += value
        text += "\n"
    }

    private func joined(_ labels: String, _ more: String) -> String {
        labels.isEmpty ? more : "\(labels),\(more)"
    }
}

/// `destination="app",logstore="app-log"`.
private func labelled(_ pairs: some Sequence<(String, String)>) -> String {
    pairs.map { "\($0)=\"\(escapedLabel($1))\"" }.joined(separator: ",")
}

private func escapedLabel(_ value: String) -> String {
    value.escaping(["\\": "\\\\", "\"": "\\\"", "\n": "\\n"])
}

private func escapedHelp(_ help: String) -> String {
    help.escaping(["\\": "\\\\", "\n": "\\n"])
}
