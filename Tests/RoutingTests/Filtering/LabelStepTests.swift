import Logs
import System
import Testing

@testable import Routing

@Suite struct LabelStepTests {
    private func labels(_ result: FilteredLogs) -> [String] {
        result.groups.map { group in
            func text(_ label: [UInt8]?) -> String {
                label.map { String(decoding: $0, as: UTF8.self) } ?? "-"
            }
            let logs = group.logs.texts.map { $0.joined(separator: " ") }.joined(separator: ";")
            return
                "\(group.plan.tag) \(text(group.labels.topic)) \(text(group.labels.source)): \(logs)"
        }
    }

    private func topic(_ text: String) throws -> FilterStep {
        FilterStep(.topic(try Template(text)), when: .field("t", .exists(true)))
    }

    @Test func logsWithAnotherTopicOrSourceLeaveByThemselves() throws {
        let source = FilterStep(
            .source(try Template("h-{{field:s}}")),
            when: .field("s", .exists(true))
        )
        let result = try FilterBench(try topic("{{tag}}.{{field:t}}"), source).apply([
            [("n", "1"), ("t", "a")], [("n", "2")], [("n", "3"), ("t", "a")],
            [("n", "4"), ("t", "a"), ("s", "x")],
        ])
        #expect(
            labels(result) == [
                "app app.a -: n=1 t=a;n=3 t=a", "app - -: n=2", "app app.a h-x: n=4 t=a s=x",
            ]
        )
    }

    @Test func aNewTagKeepsTheTopicAndTheLaterFiltersSeeIt() throws {
        let tag = FilterStep(.tag(try Template("b")))
        let first = Filter(name: "first", steps: [try topic("{{field:t}}"), tag])
        let second = Filter(
            name: "second",
            patterns: [try TagPattern("b")],
            steps: [FilterStep(.set([Assignment(field: "n", value: try Template("9"))]))]
        )
        let result = try FilterBench([first, second]).apply([[("t", "x")], [("u", "y")]])
        #expect(labels(result) == ["b x -: t=x n=9", "b - -: u=y n=9"])
    }

    @Test("A request makes a bounded number of topics; beyond it the step fails and counts")
    func bound() throws {
        var limits = LogLimits()
        limits.batches = 4
        let bench = try FilterBench(try topic("{{field:t}}"), limits: limits)
        let logs = (0..<10).map { [("t", "\($0)")] }
        let result = try bench.apply(logs)
        #expect(result.groups.filter { $0.labels.topic != nil }.count == 4)
        #expect(bench.counters.counts[0].counts[.failed] == 6)
        #expect(result.kept.count == 10)
        // The next request has the whole number again.
        #expect(try bench.apply(logs).groups.filter { $0.labels.topic != nil }.count == 4)
    }

    @Test func aTopicThatIsTooLongFails() throws {
        let bench = try FilterBench(try topic("{{field:t}}"))
        let result = try bench.apply([[("t", String(repeating: "x", count: 129))]])
        #expect(result.groups.map(\.labels) == [.none])
        #expect(bench.counters.counts[0].counts[.failed] == 1)
    }

    @Test func aDeadLogKeepsItsTopic() throws {
        let parse = FilterStep(.parse(Parsing(field: "t", .json)))
        let result = try FilterBench(try topic("{{field:t}}"), parse, onError: .deadLetter)
            .apply([[("t", "x")], [("t", "y")]])
        #expect(result.dead.map { $0.labels.topic } == [Array("x".utf8), Array("y".utf8)])
    }

    @Test func aTraceShowsTheTopic() throws {
        let trace = FilterTrace()
        _ = try FilterBench(try topic("{{field:t}}")).apply([[("t", "x")]], trace: trace)
        let step = try #require(trace.logs.first?.steps.first)
        #expect(step.effect == .changed)
        #expect(step.after.map { "\($0.name)=\($0.value)" } == ["__topic__=x"])
    }
}
