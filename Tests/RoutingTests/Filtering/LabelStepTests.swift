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

@Suite struct TimeStepTests {
    private func time(_ format: String, _ value: String) throws -> (LogTime, failed: Int) {
        let format = try #require(TimeFormat(format))
        let bench = try FilterBench(FilterStep(.time(field: "ts", format)))
        let result = try bench.apply([[("a", "b")], [("ts", value), ("x", "y")]])
        let entries = result.groups.flatMap(\.logs.entries)
        #expect(entries[0].time.seconds == 0, "a log without the field keeps its time")
        #expect(entries[1].fields.map(\.value) == [value, "y"])
        let failed = bench.counters.counts[0].counts[.failed]
        #expect(result.areRetimed == (failed == 0))
        return (entries[1].time, failed)
    }

    @Test(
        "A field's time replaces the log's, with its nanoseconds",
        arguments: [
            ("iso", "2025-01-14T08:30:00Z", 1_736_843_400, 0),
            ("iso", "2025-01-14 16:30:00.123456789+08:00", 1_736_843_400, 123_456_789),
            ("iso", "2025-01-14T08:30", 1_736_843_400, 0),
            ("s", "1736843400", 1_736_843_400, 0),
            ("s", "1736843400.5", 1_736_843_400, 500_000_000),
            ("ms", "1736843400123", 1_736_843_400, 123_000_000), ("ms", "5", 0, 5_000_000),
            ("us", "1736843400123456", 1_736_843_400, 123_456_000),
            ("ns", "1736843400123456789", 1_736_843_400, 123_456_789),
            ("%d/%b/%Y:%H:%M:%S %z", "14/Jan/2025:08:30:00 +0000", 1_736_843_400, 0),
            ("%d/%b/%Y:%H:%M:%S %z", "14/jan/2025:00:30:00 -0800", 1_736_843_400, 0),
            ("%F %T.%f", "2025-01-14 08:30:00.25", 1_736_843_400, 250_000_000),
            ("%a %b %e %I:%M:%S %p %Y", "Tue Jan 14 08:30:00 AM 2025", 1_736_843_400, 0),
            ("%b %e %Y %I:%M %p", "Jan  4 2025 12:05 PM", 1_735_992_300, 0),
            ("%s.%f", "1736843400.000000007", 1_736_843_400, 7), ("100%% %s", "100% 7", 7, 0),
            ("%Y-%m-%d", "2024-02-29", 1_709_164_800, 0),
            ("%Y年%m月%d日", "2024年02月29日", 1_709_164_800, 0),
        ] as [(String, String, UInt32, UInt32)]
    )
    func times(format: String, value: String, seconds: UInt32, nanoseconds: UInt32) throws {
        let (time, failed) = try time(format, value)
        #expect(time == LogTime(seconds: seconds, nanoseconds: nanoseconds) && failed == 0)
    }

    @Test(
        "A value that is no such time leaves the log's, and counts",
        arguments: [
            ("iso", "1736843400"), ("iso", "2025-02-30T00:00:00Z"), ("iso", ""), ("s", "-1"),
            ("s", "99999999999"), ("s", "1e3000"), ("s", "1 "), ("s", "noon"), ("ns", "0x10"),
            ("%d/%b/%Y:%H:%M:%S %z", "14/Jan/2025:08:30:00"),
            ("%d/%b/%Y:%H:%M:%S %z", "14/Jan/2025:08:30:00 "),
            ("%d/%b/%Y:%H:%M:%S %z", "14/Jan/2025:24:30:00 +0000"),
            ("%d/%b/%Y:%H:%M:%S %z", "4/Jan/2025:08:30:00 +0000"),
            ("%F %T", "2025-01-14 08:30:00 and more"), ("%F %T", "2025-02-29 08:30:00"),
            ("%F", "1969-12-31"), ("%F", "2107-01-01"),
            ("%b %e %Y %I:%M %p", "Jan  4 2025 13:05 PM"),
            ("%s", "17368434000000000000000"), ("%F", String(repeating: "2025-01-14", count: 20)),
        ]
    )
    func unreadable(format: String, value: String) throws {
        let (time, failed) = try time(format, value)
        // The bench gives the second log this time.
        #expect(time == LogTime(seconds: 1, nanoseconds: 7) && failed == 1)
    }

    @Test(
        "A text that describes no time is no format",
        arguments: [
            "", "S", "seconds", "%H:%M:%S", "%d/%b", "%Y-%m", "%q", "%Y-%m-%d %", "%F %Y",
            "%F %I:%M",
            "%F %H %p", String(repeating: "x", count: 70) + "%F",
        ]
    )
    func formats(text: String) {
        #expect(TimeFormat(text) == nil)
    }

    @Test func aTraceShowsTheTime() throws {
        let trace = FilterTrace()
        let format = try #require(TimeFormat("ms"))
        _ = try FilterBench(FilterStep(.time(field: "ts", format)))
            .apply([[("ts", "1736843400005")]], trace: trace)
        let after = try #require(trace.logs.first?.steps.first?.after)
        #expect(after.map { "\($0.name)=\($0.value)" } == ["__time__=1736843400.005000000"])
    }
}
