import JSON
import Operations
import System

/// A number that the gateway publishes about a subject, such as a destination: its names, and how
/// it is read. A group adds its meaning. `/metrics`, the admin API's documents, `sluice help
/// metrics` and the tables of docs/metrics.md come from these values.
struct Figure<Subject>: Sendable {
    /// A member of the subject's JSON object, or of an object in it.
    struct Member: Sendable, ExpressibleByStringLiteral {
        let object: String
        let name: String

        /// `bytes`, or `duplicates.known` for a member of the object `duplicates`.
        init(stringLiteral path: String) {
            let parts = path.split(separator: ".")
            object = parts.dropLast().joined(separator: ".")
            name = parts.last.map(String.init) ?? ""
        }
    }

    enum Source: Sendable {
        /// One sample; none if the value is nil.
        case value(@Sendable (Subject, WallTime) -> (any FigureValue)?)
        /// A sample for each value of one more label.
        case values(label: String, @Sendable (Subject) -> [(String, any FigureValue)])
        case histogram(@Sendable (Subject) -> LatencyHistogram)
    }

    let name: String
    /// The member of the admin API's documents that has the same number.
    let member: Member?
    let source: Source

    private init(_ name: String, _ member: Member?, _ source: Source) {
        (self.name, self.member, self.source) = (name, member, source)
    }

    init(
        _ name: String,
        _ path: any KeyPath<Subject, some FigureValue> & Sendable,
        member: Member? = nil
    ) {
        self.init(name, member: member) { subject, _ in subject[keyPath: path] }
    }

    /// A figure that may need the time of the report, such as an age.
    init(
        _ name: String,
        member: Member? = nil,
        _ value: @escaping @Sendable (Subject, WallTime) -> (any FigureValue)?
    ) {
        self.init(name, member, .value(value))
    }

    init<Value: FigureValue>(
        _ name: String,
        by label: String,
        _ values: @escaping @Sendable (Subject) -> [(String, Value)]
    ) {
        self.init(name, nil, .values(label: label) { values($0).map { ($0, $1) } })
    }

    init(_ name: String, histogram: @escaping @Sendable (Subject) -> LatencyHistogram) {
        self.init(name, nil, .histogram(histogram))
    }

    var kind: FigureKind {
        if case .histogram = source { return .histogram }
        // promtool demands the ending of counters, and of nothing else.
        return name.hasSuffix("_total") ? .counter : .gauge
    }

    /// The label that its samples have besides those of the subject.
    var ownLabel: String? {
        guard case .values(let label, _) = source else { return nil }
        return label
    }
}

enum FigureKind: String {
    case counter, gauge, histogram
}

/// The figures of one kind of subject. The labels name a subject.
struct FigureGroup<Subject>: Sendable {
    typealias Subjects = [(labels: [String], subject: Subject)]
    typealias Table = KeyValuePairs<Figure<Subject>, String>

    let section: FigureSection
    let labels: [String]
    let subjects: @Sendable (GatewayReport) -> Subjects
    private(set) var figures: Table = [:]

    init(
        _ section: FigureSection,
        by labels: [String],
        _ subjects: @escaping @Sendable (GatewayReport) -> Subjects
    ) {
        self.section = section
        self.labels = labels
        self.subjects = subjects
    }

    /// Figures of a subject that exists once, and needs no label.
    init(_ section: FigureSection, _ subject: @escaping @Sendable (GatewayReport) -> Subject) {
        self.init(section, by: []) { [([], subject($0))] }
    }

    func table(_ figures: Table) -> FigureGroup {
        var group = self
        group.figures = figures
        return group
    }
}

// MARK: - Values

protocol FigureValue: Sendable {
    /// The number as `/metrics` and JSON write it.
    var figureText: String { get }
}

extension Int: FigureValue { var figureText: String { "\(self)" } }
extension Int64: FigureValue { var figureText: String { "\(self)" } }
extension Bool: FigureValue { var figureText: String { self ? "1" : "0" } }
/// With at most three decimals.
extension Double: FigureValue { var figureText: String { decimalText(self) } }
/// In seconds, with three decimals.
extension Duration: FigureValue { var figureText: String { decimalSeconds(self) } }

// MARK: - JSON

extension JSONWriter {
    /// Writes the figures of a group that are members of the object, in the group's order.
    mutating func figures<Subject>(
        _ group: FigureGroup<Subject>,
        of subject: Subject,
        now: WallTime,
        in object: String = ""
    ) {
        for (figure, _) in group.figures {
            guard let place = figure.member, place.object == object,
                case .value(let value) = figure.source
            else { continue }
            member(place.name, number: value(subject, now)?.figureText)
        }
    }
}

package enum FigureTable {
    static let parts: [any FigurePart] =
        [GatewayFigures.build] + HTTPFigures.parts + IngestFigures.parts + QueueFigures.parts
        + FleetFigures.parts
        + DeliveryFigures.parts + NameFigures.parts + GatewayFigures.parts

    /// What describes the figures of a section, in their order.
    static func descriptions(of section: FigureSection) -> [FigureDescription] {
        parts.filter { $0.section == section }.flatMap(\.descriptions)
    }

    /// `sluice help metrics`: by section, for a terminal or for the pages in docs/.
    package static func help(asMarkdown: Bool) -> String {
        FigureSection.allCases.map { section in
            let figures = descriptions(of: section).map { figure in
                let labels =
                    figure.labels.isEmpty ? "" : " {\(figure.labels.joined(separator: ", "))}"
                return "  \(figure.name)\(labels), \(figure.kind.rawValue)\n      \(figure.help)\n"
            }
            let table = asMarkdown ? "\n" + markdown(of: section) : figures.joined()
            return (asMarkdown ? "## \(section)" : "\(section)") + "\n" + table
        }.joined(separator: "\n")
    }

    /// The table of a section as the pages in docs/ have it.
    static func markdown(of section: FigureSection) -> String {
        let rows = descriptions(of: section).map { figure in
            let labels = figure.labels.map { "`\($0)`" }.joined(separator: ", ")
            return
                "| `\(figure.name)` | \(figure.kind.rawValue) | \(labels.isEmpty ? "-" : labels) "
                + "| \(figure.help) |\n"
        }
        return "| Metric | Type | Labels | What it is |\n|---|---|---|---|\n" + rows.joined()
    }
}

/// A table of one of the pages docs/metrics*.md.
enum FigureSection: String, CaseIterable {
    case requests, logs, devices, ledger, queue, cluster, destinations, delivery, logstores, names,
        gateway
}

/// What is known of a figure without a gateway.
struct FigureDescription: Equatable {
    let name: String
    let kind: FigureKind
    let labels: [String]
    let help: String
}

/// A group of figures, whatever their subject is.
protocol FigurePart: Sendable {
    var section: FigureSection { get }
    var descriptions: [FigureDescription] { get }
    func write(_ report: GatewayReport, to page: inout MetricsPage)
}

extension FigureGroup: FigurePart {
    var descriptions: [FigureDescription] {
        figures.map { figure, help in
            FigureDescription(
                name: figure.name,
                kind: figure.kind,
                labels: labels + [figure.ownLabel].compactMap(\.self),
                help: help
            )
        }
    }

    func write(_ report: GatewayReport, to page: inout MetricsPage) {
        page.write(self, of: subjects(report), now: report.now)
    }
}
