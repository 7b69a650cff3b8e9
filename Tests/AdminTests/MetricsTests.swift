import Configuration
import Foundation
import Queue
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import HTTP
@testable import Operations
@testable import System

@Suite struct MetricsTests {
    @Test("A family has its help, its type and then its samples")
    func family() {
        let things = FigureGroup<Int>(.gateway, by: ["name"]) { _ in [] }
            .table([Figure("things_total", \.self): "Things\\ with\na break."])
        let ages = FigureGroup<Duration>(.gateway) { _ in .zero }
            .table([Figure("age", \.self): "Age."])
        var page = MetricsPage()
        page.write(things, of: [(["a\"b\\c\nd"], 3), (["e"], 4)], now: .now)
        page.write(things, of: [], now: .now)
        page.write(ages, of: [([], .milliseconds(1500))], now: .now)
        #expect(
            page.text == #"""
                # HELP things_total Things\\ with\na break.
                # TYPE things_total counter
                things_total{name="a\"b\\c\nd"} 3
                things_total{name="e"} 4
                # HELP age Age.
                # TYPE age gauge
                age 1.500

                """#
        )
    }

    @Test("A histogram's buckets add up")
    func histogram() {
        let group = FigureGroup<LatencyHistogram>(.gateway, by: ["to"]) { _ in [] }
            .table([Figure("took_seconds", histogram: { $0 }): "Time."])
        var page = MetricsPage()
        var histogram = LatencyHistogram(bounds: [0.5, 1])
        for milliseconds in [100, 500, 2400] { histogram.record(.milliseconds(milliseconds)) }
        page.write(group, of: [(["app"], histogram)], now: .now)
        #expect(
            page.text == """
                # HELP took_seconds Time.
                # TYPE took_seconds histogram
                took_seconds_bucket{to="app",le="0.5"} 2
                took_seconds_bucket{to="app",le="1.0"} 2
                took_seconds_bucket{to="app",le="+Inf"} 3
                took_seconds_sum{to="app"} 3.000
                took_seconds_count{to="app"} 3

                """
        )
    }
}

/// What is wrong with a page, by the rules of the text format and of `promtool check metrics`.
func problems(inMetrics text: String) -> [String] {
    var problems: [String] = []
    var types: [String: String] = [:]
    var helped: Set<String> = []
    var current = ""
    var seen: Set<String> = []
    if !text.hasSuffix("\n") { problems.append("no newline at the end") }
    for line in text.split(separator: "\n") {
        let words = line.split(separator: " ", maxSplits: 3).map(String.init)
        if line.hasPrefix("# HELP ") {
            current = words[2]
            if !helped.insert(current).inserted { problems.append("\(current): twice") }
            if words.count < 4 { problems.append("\(current): no help") }
            continue
        }
        if line.hasPrefix("# TYPE ") {
            if words[2] != current { problems.append("\(words[2]): TYPE without HELP") }
            types[current] = words[3]
            let isTotal = current.hasSuffix("_total")
            if isTotal != (words[3] == "counter") {
                problems.append("\(current): a counter ends in _total, and nothing else does")
            }
            continue
        }
        let name = line.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        let allowed =
            types[current] == "histogram"
            ? ["_bucket", "_sum", "_count"].map { current + $0 } : [current]
        if !allowed.contains(String(name)) { problems.append("\(name): outside its family") }
        let value = line.split(separator: " ").last ?? ""
        if Double(value) == nil { problems.append("\(line): no number") }
        let series = line.dropLast(value.count)
        if !seen.insert(String(series)).inserted { problems.append("\(series): twice") }
        if let open = series.firstIndex(of: "{") {
            let labels = series[open...].dropFirst().prefix { $0 != "}" }
            for label in labels.split(separator: ",") where !label.contains("=\"") {
                problems.append("\(line): a label without a quoted value")
            }
        }
    }
    return problems
}

/// Compares pages, dashboard and alerts with the metrics of a gateway that has had traffic.
@Suite(.timeLimit(.minutes(10))) struct DocumentedMetricsTests {
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

@Suite(.timeLimit(.minutes(10))) struct CountersTests {
    @Test("Answers are counted by route and status, unknown ones as other")
    func answers() {
        let counters = AnswerCounters(labels: ["other", "logs"])
        for (label, status) in [
            (1, 200), (1, 200), (0, 404), (1, 299), (7, 418), (1, -1), (1, 700),
        ] {
            counters.count(Response(status: status).labelled(label))
        }
        func count(_ route: String, _ status: String) -> Int {
            counters.all.first { $0.route == route && $0.status == status }?.answers ?? 0
        }
        #expect(count("logs", "200") == 2 && count("logs", "other") == 3)
        #expect(count("other", "404") == 1 && count("other", "other") == 1)
        #expect(counters.all.contains(.init(route: "logs", status: "503", answers: 0)))
        #expect(counters.all.reduce(0) { $0 + $1.answers } == 7)
    }

    @Test("Every answer of both listeners is counted, with its route")
    func requests() throws {
        let trial = try SandboxedGateway()
        _ = try trial.devices.post("/logs/hello", #"{"a":1}"#.utf8)
        _ = try trial.devices.post("/logs/hello", "no".utf8)
        _ = try trial.devices.post("/logstores/app-log/track", #"{"__logs__":[{"a":"1"}]}"#.utf8)
        for path in ["/healthz", "/servertime", "/nothing/at/all"] {
            _ = try trial.devices.get(path)
        }
        _ = try trial.devices.exchange(Array("NONSENSE\r\n\r\n".utf8))
        _ = try trial.admin.get("/metrics")
        _ = try trial.admin("/admin/dead-letters/17")
        _ = try trial.admin("/admin/nothing")
        let text = trial.gateway.report.metrics
        for (listener, route, status, count) in [
            ("devices", "logs", 200, 1), ("devices", "logs", 400, 1), ("devices", "track", 200, 1),
            ("devices", "healthz", 200, 1), ("devices", "servertime", 200, 1),
            ("devices", "other", 404, 1), ("devices", "other", 400, 1),
            ("admin", "metrics", 401, 1), ("admin", "dead_letters", 404, 1),
            ("admin", "other", 404, 1),
        ] {
            let labels = #"listener="\#(listener)",route="\#(route)",status="\#(status)""#
            #expect(text.contains("sluice_http_requests_total{\(labels)} \(count)\n"), "\(labels)")
        }
        #expect(text.contains("sluice_ingest_ack_seconds_count{route=\"logs\"} 1\n"))
        #expect(text.contains("sluice_ingest_ack_seconds_count{route=\"track\"} 1\n"))
    }

    @Test("A change by an operator is counted once, by its action")
    func changes() throws {
        let trial = try SandboxedGateway()
        for action in ["pause", "resume", "flush"] {
            let answer = try trial.admin.ask("POST", "/admin/destinations/default/\(action)")
            #expect(answer.status == 200)
        }
        let text = trial.gateway.report.metrics
        for (action, count) in [("pause", 1), ("resume", 1), ("flush", 1), ("purge", 0)] {
            let line = #"sluice_admin_changes_total{action="\#(action)"} \#(count)"#
            #expect(text.contains(line + "\n"), "\(line)")
        }
    }
}
