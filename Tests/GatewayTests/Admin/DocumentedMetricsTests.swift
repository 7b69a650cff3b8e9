import Configuration
import Foundation
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// What the documents, the dashboard and the alerts say of metrics, held against a gateway that has had traffic.
@Suite(.timeLimit(.minutes(1))) struct DocumentedMetricsTests {
    private let page: MetricsPage
    private let trial: TryOut

    init() throws {
        trial = try TryOut { $0.destinations[0].backlog.bytesMax = 100_000_000 }
        _ = try trial.devices.post("/logs/hello", #"{"a":1}"#.utf8)
        _ = try trial.devices.post("/logs/hello", "no".utf8)
        try trial.bury(1)
        #expect(trial.delivered(1))
        let report = trial.gateway.reporter
        // Logstores are looked at once a second.
        #expect(eventually { report.report.metrics.contains("sluice_logstore_packets_total{") })
        page = report.report.metricsPage
    }

    @Test("The document has every metric with kind, labels and help, and no other")
    func table() throws {
        let pages = try lines("docs/metrics.md") + lines("docs/metrics-delivery.md")
        let rows = pages.filter { $0.hasPrefix("| `") }.map { line in
            line.split(separator: " | ").map { String($0.trimmingPrefix("| ")) }
        }
        let documented = Dictionary(grouping: rows) { $0[0].filter { $0 != "`" } }
        let known = Set(page.families.map(\.name))
        #expect(known.subtracting(documented.keys).sorted() == [], "not in the document")
        #expect(Set(documented.keys).subtracting(known).sorted() == [], "not in the program")
        #expect(page.families.count == known.count, "each metric is written once")
        for family in page.families {
            let row = try #require(documented[family.name]?.first)
            #expect(documented[family.name]?.count == 1, "\(family.name) is there once")
            #expect(row[1] == family.kind.rawValue, "\(family.name)")
            let help = row[3].hasSuffix(" |") ? String(row[3].dropLast(2)) : row[3]
            #expect(help == family.help, "\(family.name)")
            guard let labels = family.labels else { continue }
            let written = row[2].split(separator: "`").filter { !$0.contains(",") }.map(String.init)
            #expect(written.filter { $0 != "-" } == labels, "\(family.name)")
        }
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
            guard let found = family.labels else { continue }
            let labels = Set(found + ["le", "instance", "job"])
            for label in (match.2 ?? "").matches(of: /([a-z_]+)(=~|!=|!~|=)"([^"]*)"/) {
                #expect(labels.contains(String(label.1)), "\(file): \(match.0)")
                guard label.2 == "=", !["job", "instance"].contains(label.1) else { continue }
                let sample = "\(label.1)=\"\(label.3)\""
                let isThere = page.text.split(separator: "\n").contains {
                    $0.hasPrefix(family.name) && $0.contains(sample)
                }
                #expect(isThere, "\(file): no \(name) has \(sample)")
            }
        }
    }

    @Test("What dashboard and alerts group by are labels of what they group")
    func groups() throws {
        for file in ["dashboard.json", "alerts.yaml"] {
            for expression in try expressions(in: file) {
                let names = expression.matches(of: /\b((?:sluice|process)_[a-z_]+)/).map {
                    String($0.1)
                }
                let groups = names.map { known($0)?.labels }
                // Of one that has no samples here the labels are in the document alone.
                guard !groups.contains(nil) else { continue }
                let labels = Set(groups.compactMap(\.self).joined()).union([
                    "le", "instance", "job",
                ])
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

    private func known(_ name: String) -> MetricsPage.Family? {
        if let family = page.families.first(where: { $0.name == name }) { return family }
        for suffix in ["_bucket", "_sum", "_count"] where name.hasSuffix(suffix) {
            let base = name.dropLast(suffix.count)
            return page.families.first { $0.name == base && $0.kind == .histogram }
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
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let text = try String(contentsOfFile: "/\(root)/\(path)", encoding: .utf8)
        return text.components(separatedBy: "\n")
    }
}
