import JSON
import Operations
import System

/// A number that the gateway publishes about a subject, such as a destination: its names, its meaning, and how it is read.
/// `/metrics`, the admin API's documents, `sluice help metrics` and the tables of docs/metrics.md come from these values.
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
        case histogram(@Sendable (Subject) -> FigureHistogram)
    }

    let name: String
    let help: String
    /// The member of the admin API's documents that has the same number.
    let member: Member?
    let source: Source

    init(
        _ name: String,
        _ path: any KeyPath<Subject, some FigureValue> & Sendable,
        _ help: String,
        member: Member? = nil
    ) {
        self.init(name, help, member: member) { subject, _ in subject[keyPath: path] }
    }

    /// A figure that may need the time of the report, such as an age.
    init(
        _ name: String,
        _ help: String,
        member: Member? = nil,
        _ value: @escaping @Sendable (Subject, WallTime) -> (any FigureValue)?
    ) {
        self.name = name
        self.help = help
        self.member = member
        source = .value(value)
    }

    init<Value: FigureValue>(
        _ name: String,
        by label: String,
        _ help: String,
        _ values: @escaping @Sendable (Subject) -> [(String, Value)]
    ) {
        self.name = name
        self.help = help
        member = nil
        source = .values(label: label) { subject in values(subject).map { ($0.0, $0.1) } }
    }

    init(
        _ name: String,
        _ help: String,
        histogram: @escaping @Sendable (Subject) -> FigureHistogram
    ) {
        self.name = name
        self.help = help
        member = nil
        source = .histogram(histogram)
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

/// Counts that are not summed up yet; the last one is of what exceeds every bound.
struct FigureHistogram: Sendable {
    let bounds: [Double]
    let counts: [Int]
    let sum: Duration
}

/// The figures of one kind of subject. The labels name a subject.
struct FigureGroup<Subject>: Sendable {
    typealias Subjects = [(labels: [String], subject: Subject)]

    let section: FigureSection
    let labels: [String]
    let subjects: @Sendable (GatewayReport) -> Subjects
    let figures: [Figure<Subject>]

    init(
        _ section: FigureSection,
        by labels: [String],
        _ subjects: @escaping @Sendable (GatewayReport) -> Subjects,
        _ figures: [Figure<Subject>]
    ) {
        self.section = section
        self.labels = labels
        self.subjects = subjects
        self.figures = figures
    }

    /// Figures of a subject that exists once, and needs no label.
    init(
        _ section: FigureSection,
        _ subject: @escaping @Sendable (GatewayReport) -> Subject,
        _ figures: [Figure<Subject>]
    ) {
        self.init(section, by: [], { [([], subject($0))] }, figures)
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
        for figure in group.figures {
            guard let place = figure.member, place.object == object,
                case .value(let value) = figure.source
            else { continue }
            member(place.name, number: value(subject, now)?.figureText)
        }
    }
}
