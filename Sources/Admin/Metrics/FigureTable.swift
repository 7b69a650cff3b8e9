import Operations

/// All figures, in the order of `/metrics`.
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
