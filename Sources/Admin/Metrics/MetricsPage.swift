import JSON

/// A page in Prometheus' text format: families with their help and type, each followed by all of
/// its samples, as the format demands.
struct MetricsPage {
    enum Kind: String {
        case counter, gauge, histogram
    }

    /// What the page says of a metric before its samples; also of one that has none now.
    struct Family: Equatable {
        let name: String
        let kind: Kind
        let help: String
        /// Names, as the first sample has them; nil without samples.
        let labels: [String]?
    }

    /// The samples of one family.
    struct Samples {
        fileprivate let name: String
        fileprivate var text = ""
        fileprivate var labels: [String]?

        mutating func add(
            _ value: some FixedWidthInteger,
            _ labels: KeyValuePairs<String, String> = [:]
        ) {
            add(written: "\(value)", labels)
        }

        mutating func add(seconds: Duration, _ labels: KeyValuePairs<String, String> = [:]) {
            add(written: decimalSeconds(seconds), labels)
        }

        mutating func add(decimal value: Double, _ labels: KeyValuePairs<String, String> = [:]) {
            add(written: decimalText(value), labels)
        }

        mutating func add(_ flag: Bool, _ labels: KeyValuePairs<String, String> = [:]) {
            add(written: flag ? "1" : "0", labels)
        }

        /// A histogram of counts that are not summed up yet; the last is what exceeds every bound.
        mutating func add(
            bounds: [Double],
            counts: [Int],
            sum: Duration,
            _ label: (name: String, value: String)
        ) {
            var total = 0
            for (bound, count) in zip(bounds.map { "\($0)" } + ["+Inf"], counts) {
                total += count
                add(written: "\(total)", [label.name: label.value, "le": bound], suffix: "_bucket")
            }
            add(written: decimalSeconds(sum), [label.name: label.value], suffix: "_sum")
            add(written: "\(total)", [label.name: label.value], suffix: "_count")
        }

        private mutating func add(
            written value: String,
            _ labels: KeyValuePairs<String, String>,
            suffix: String = ""
        ) {
            if self.labels == nil { self.labels = labels.map(\.key).filter { $0 != "le" } }
            text += name + suffix
            if !labels.isEmpty {
                let pairs = labels.map { "\($0.key)=\"\(escapedLabel($0.value))\"" }
                text += "{" + pairs.joined(separator: ",") + "}"
            }
            text += " \(value)\n"
        }
    }

    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""
    private(set) var families: [Family] = []

    /// Writes a family; one without samples leaves no trace.
    mutating func family(
        _ name: String,
        _ kind: Kind,
        _ help: String,
        _ samples: (inout Samples) -> Void
    ) {
        var family = Samples(name: name)
        samples(&family)
        families.append(Family(name: name, kind: kind, help: help, labels: family.labels))
        guard !family.text.isEmpty else { return }
        text += "# HELP \(name) \(escapedHelp(help))\n# TYPE \(name) \(kind.rawValue)\n"
        text += family.text
    }
}

private func escapedLabel(_ value: String) -> String {
    value.reduce(into: "") { text, character in
        switch character {
        case "\\": text += "\\\\"
        case "\"": text += "\\\""
        case "\n": text += "\\n"
        default: text.append(character)
        }
    }
}

private func escapedHelp(_ help: String) -> String {
    help.reduce(into: "") { text, character in
        switch character {
        case "\\": text += "\\\\"
        case "\n": text += "\\n"
        default: text.append(character)
        }
    }
}
