import System
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

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
