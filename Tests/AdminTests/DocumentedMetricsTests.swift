import Configuration
import Foundation
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// Compares pages, dashboard and alerts with the metrics of a gateway that has had traffic.
@Suite(.timeLimit(.minutes(1))) struct DocumentedMetricsTests {
    private let page: MetricsPage
    private let figures = FigureSection.allCases.flatMap(FigureTable.descriptions)
    private let trial: SandboxedGateway

    init() throws {
        trial = try SandboxedGateway { $0.destinations[0].backlog.bytesMax = 100_000_000 }
        _ = try trial.devices.post("/logs/hello", #"{"a":1}"#.utf8)
        _ = try trial.devices.post("/logs/hello", "no".utf8)
        try trial.bury(1)
        #expect(trial.delivered(1))
        let report = trial.gateway.reporter
        // Logstores are looked at once a second.
        #expect(eventually { report.report.metrics.contains("sluice_logstore_packets_total{") })
        page = MetricsPage(report.report)
    }

    @Test("The pages have the program's table of each section", arguments: FigureSection.allCases)
    func tables(section: FigureSection) throws {
        let pages = try ["docs/metrics.md", "docs/metrics-delivery.md", "docs/metrics-cluster.md"]
            .map {
                try lines($0).joined(separator: "\n")
            }
        let marker = "<!-- metrics: \(section) -->\n\n"
        let parts = pages.flatMap { $0.components(separatedBy: marker).dropFirst() }
        #expect(parts.count == 1, "\(marker) is on one page")
        let table = parts.first?.components(separatedBy: "\n<!-- end -->").first
        #expect(table == FigureTable.markdown(of: section), "stale: run make metrics-tables")
    }

    @Test("Each metric is in the table once, and its samples have the table's labels")
    func labels() throws {
        #expect(Set(figures.map(\.name)).count == figures.count)
        let byName = Dictionary(figures.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        var family: FigureDescription?
        for line in page.text.split(separator: "\n") {
            if line.hasPrefix("# ") {
                family = byName[line.split(separator: " ")[2].description]
                continue
            }
            let labels = line.matches(of: /([a-z_]+)="/).map { String($0.1) }
            #expect(labels.filter { $0 != "le" } == family?.labels, "\(line)")
        }
    }

    @Test("A figure with a JSON member is a number in the OpenAPI schema")
    func members() throws {
        let document = try JSONSerialization.jsonObject(with: Data(ServedFile.openAPI.text.utf8))
        func check<Subject>(_ group: FigureGroup<Subject>, in schema: String) {
            for member in group.figures.compactMap(\.key.member) {
                let object = member.object.isEmpty ? "" : ".properties.\(member.object)"
                let path = "components.schemas.\(schema)\(object).properties.\(member.name).type"
                let type = path.split(separator: ".").reduce(document as Any?) {
                    ($0 as? [String: Any])?[String($1)]
                }
                let types = type as? [String] ?? [type as? String ?? ""]
                #expect(["integer", "number"].contains(types[0]), "\(path)")
            }
        }
        check(QueueFigures.queue, in: "Queue")
        for schema in ["Backlog", "DestinationQueue"] {
            check(QueueFigures.backlog, in: schema)
            check(QueueFigures.losses, in: schema)
        }
        check(DeliveryFigures.destinations, in: "Delivery")
        check(DeliveryFigures.logstores, in: "Outlet")
        check(DeliveryFigures.logstoreDelivery, in: "Outlet")
        check(GatewayFigures.process, in: "Status.properties.process")
    }

    @Test(
        "Dashboard and alerts ask for metrics, labels and states that there are",
        arguments: ["dashboard.json", "alerts.yaml"]
    )
    func references(file: String) throws {
        let text = try expressions(in: file).joined(separator: "\n")
        let found = text.matches(of: /\b((?:sluice|process)_[a-z_]+)(?:\{([^}]*)\})?/)
        #expect(found.count > 20)
        for match in found {
            let name = String(match.1)
            let family = try #require(known(name), "\(file): \(name)")
            let labels = Set(family.labels + ["le", "instance", "job"])
            let hasSamples = page.text.contains("# TYPE \(family.name) ")
            for label in (match.2 ?? "").matches(of: /([a-z_]+)(=~|!=|!~|=)"([^"]*)"/) {
                #expect(labels.contains(String(label.1)), "\(file): \(match.0)")
                guard label.2 == "=", hasSamples, !["job", "instance"].contains(label.1) else {
                    continue
                }
                let sample = "\(label.1)=\"\(label.3)\""
                let isThere = page.text.split(separator: "\n").contains {
                    $0.hasPrefix(family.name) && $0.contains(sample)
                }
                #expect(isThere, "\(file): no \(name) has \(sample)")
            }
        }
    }

    @Test("Dashboard and alerts group only by labels that the metrics have")
    func groups() throws {
        for file in ["dashboard.json", "alerts.yaml"] {
            for expression in try expressions(in: file) {
                let names = expression.matches(of: /\b((?:sluice|process)_[a-z_]+)/).map {
                    String($0.1)
                }
                let labels = Set(names.flatMap { known($0)?.labels ?? [] })
                    .union(["le", "instance", "job"])
                for group in expression.matches(of: /\b(?:by|on) \(([^)]*)\)/) {
                    for label in group.1.split(separator: ",") {
                        let label = label.trimmingCharacters(in: .whitespaces)
                        #expect(labels.contains(label), "\(file): \(expression)")
                    }
                }
            }
        }
    }

    @Test("Every panel of the dashboard says what it shows and in which unit")
    func panels() throws {
        let text = try lines("Docker/observability/dashboard.json").joined(separator: "\n")
        let dashboard = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        let panels = try #require(dashboard?["panels"] as? [[String: Any]])
            .filter { $0["type"] as? String != "row" }
        #expect(panels.count > 30)
        for panel in panels {
            let title = try #require(panel["title"] as? String)
            #expect((panel["description"] as? String)?.isEmpty == false, "\(title)")
            let fields = (panel["fieldConfig"] as? [String: Any])?["defaults"] as? [String: Any]
            #expect((fields?["unit"] as? String)?.isEmpty == false, "\(title)")
            #expect((panel["targets"] as? [Any])?.isEmpty == false, "\(title)")
        }
    }

    @Test("Every alert has its section in the document, and every section its alert")
    func runbooks() throws {
        let rules = try lines("Docker/observability/alerts.yaml")
        let alerts = rules.compactMap { $0.firstMatch(of: /- alert: (\w+)/).map { String($0.1) } }
        let books = rules.compactMap {
            $0.firstMatch(
                of: /runbook_url: "{{ \$externalLabels.sluice_docs }}docs\/operations.md#(\w+)"/
            ).map { String($0.1) }
        }
        #expect(books == alerts.map { $0.lowercased() })
        let sections = try lines("docs/operations.md").filter { $0.hasPrefix("### ") }
            .map { String($0.dropFirst(4)) }
        #expect(sections == alerts, "in the same order")
    }

    private func known(_ name: String) -> FigureDescription? {
        if let figure = figures.first(where: { $0.name == name }) { return figure }
        for suffix in ["_bucket", "_sum", "_count"] where name.hasSuffix(suffix) {
            let base = name.dropLast(suffix.count)
            return figures.first { $0.name == base && $0.kind == .histogram }
        }
        return nil
    }

    /// Of alerts the whole file, since in it nothing else has such names.
    private func expressions(in file: String) throws -> [String] {
        let path = "Docker/observability/\(file)"
        guard file.hasSuffix(".json") else {
            let text = try lines(path).joined(separator: "\n")
            return text.components(separatedBy: "- alert:").dropFirst().map { String($0) }
        }
        let text = try lines(path).joined(separator: "\n")
        var found: [String] = []
        func look(_ value: Any) {
            if let list = value as? [Any] { list.forEach(look) }
            guard let object = value as? [String: Any] else { return }
            for (key, value) in object {
                if ["expr", "query", "definition"].contains(key), let text = value as? String {
                    found.append(text)
                } else {
                    look(value)
                }
            }
        }
        look(try JSONSerialization.jsonObject(with: Data(text.utf8)))
        return found
    }

    private func lines(_ path: String) throws -> [String] {
        let text = try String(contentsOfFile: repositoryFile(path), encoding: .utf8)
        return text.components(separatedBy: "\n")
    }
}
