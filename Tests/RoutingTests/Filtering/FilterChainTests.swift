import Logs
import System
import Testing

@testable import Routing

@Suite struct FilterChainTests {
    private func filter(
        _ name: String,
        _ pattern: String? = nil,
        _ steps: FilterStep...
    ) throws -> Filter {
        Filter(name: name, patterns: try pattern.map { [try TagPattern($0)] } ?? [], steps: steps)
    }

    private func set(_ field: String, _ value: String) throws -> FilterStep {
        FilterStep(.set([Assignment(field: field, value: try Template(value))]))
    }

    private func tag(_ template: String) throws -> FilterStep {
        FilterStep(.tag(try Template(template)))
    }

    @Test("A filter that changes the tag (Puree's suite, first scenario)")
    func changesTheTag() throws {
        let bench = try FilterBench([try filter("F", "filter.test", try tag("{{tag}}XXX"))])
        var tags: [String] = []
        for posted in ["filter.test", "filter.test", "debug", "filter.testXXX"] {
            tags += try bench.apply([[("n", "1")]], tag: posted).kept.map(\.tag)
        }
        #expect(tags == ["filter.testXXX", "filter.testXXX", "debug", "filter.testXXX"])
    }

    @Test("A filter that stores what its pattern took (Puree's suite, second scenario)")
    func storesWhatWasCaptured() throws {
        let bench = try FilterBench([
            try filter("F", "filter.append.**", try set("ext", "{{captured}}"))
        ])
        var found: [[String]] = []
        for posted in ["filter.append", "filter.append.xxx", "debug", "filter.append.yyy"] {
            found += try bench.apply([[]], tag: posted).kept.map(\.fields)
        }
        #expect(found == [["ext="], ["ext=xxx"], [], ["ext=yyy"]])
    }

    @Test("Tags that share a slot of the memory of tags keep all their logs")
    func tagsShareASlot() throws {
        let bench = try FilterBench([try filter("F", nil, try tag("page.{{field:p}}"))])
        let pages = (0..<900).map { "\($0 % 450)" } + ["order", "9", "order", "9"]
        let groups = try bench.apply(pages.map { [("p", $0)] }).groups
        #expect(groups.reduce(0) { $0 + $1.logs.count } == pages.count)
        #expect(Set(groups.map(\.plan.tag)).count == groups.count)
        #expect(groups.count == 451)
    }

    @Test("A log that becomes a dead letter loses what later steps remove")
    func deadLettersLoseFields() throws {
        let parse = FilterStep(.parse(Parsing(field: "body", .json)))
        let remove = FilterStep(.remove([FieldPattern("password")]))
        var rule = try filter("F", nil, parse, remove)
        rule.onError = .deadLetter
        let outcome = try FilterBench([rule]).apply([[("body", "x"), ("password", "s3cret")]])
        #expect(outcome.dead.map(\.logs.logs.texts) == [[["body=x"]]])
    }

    @Test func laterFiltersSeeTheNewTag() throws {
        let bench = try FilterBench([
            try filter("first", "a.*", try tag("b.{{captured}}"), try set("c", "{{captured}}")),
            try filter("old", "a.*", try set("old", "1")),
            try filter("new", "b.*", try set("new", "{{tag}} {{captured}}")),
        ])
        let kept = try bench.apply([[], []], tag: "a.x").kept
        #expect(kept.map(\.tag) == ["b.x", "b.x"])
        #expect(kept.map(\.fields) == [["c=x", "new=b.x x"], ["c=x", "new=b.x x"]])
    }

    @Test func groupsStandInTheOrderOfTheirFirstLogs() throws {
        let bench = try FilterBench([try filter("F", nil, try tag("t{{field:t}}"))])
        let result = try bench.apply(["b", "a", "b", ""].map { [("t", $0)] })
        #expect(result.groups.map(\.plan.tag) == ["tb", "ta", "t"])
        #expect(result.groups.map(\.logs.count) == [2, 1, 1])
        #expect(result.groups[0].logs.entries.map(\.time.seconds) == [0, 2])
    }

    @Test func aLogWhoseTagChangesTooOftenIsDead() throws {
        let filters = try (0..<9).map { try filter("F\($0)", nil, try tag("t\($0)")) }
        let result = try FilterBench(filters).apply([[("a", "1")]])
        #expect(result.kept.isEmpty)
        let tags = ["app"] + (0..<9).map { "t\($0)" }
        #expect(result.dead.map(\.logs.fault) == [.tagLoop(tags: tags, changesMax: 8)])
        #expect(try FilterBench(Array(filters.prefix(8))).apply([[]]).kept.map(\.tag) == ["t7"])
    }

    @Test(arguments: ["", "a\u{7}", String(repeating: "x", count: 129)])
    func aTagThatIsNoneFailsTheStep(text: String) throws {
        let bench = try FilterBench([try filter("F", nil, try tag("{{field:t}}"))])
        let result = try bench.apply([[("t", text)]])
        #expect(result.kept.map(\.tag) == ["app"])
        #expect(bench.counters.counts.first?.counts[.failed] == 1)
    }

    @Test func devicesCannotInventAnyNumberOfTags() throws {
        var limits = LogLimits()
        limits.batches = 3
        let bench = try FilterBench(
            [try filter("F", nil, try tag("t{{field:n}}"))],
            limits: limits
        )
        let result = try bench.apply((0..<6).map { [("n", "\($0)")] })
        #expect(result.groups.map(\.plan.tag) == ["t0", "t1", "t2", "app"])
        #expect(result.kept.count == 6)
    }

    // MARK: - Failures

    private func failing(_ onError: Filter.OnError) throws -> FilterBench {
        var filter = try filter(
            "parse",
            nil,
            FilterStep(.parse(Parsing(field: "j", .json, removesSource: true))),
            try set("after", "1"),
            FilterStep(
                .redact(Redaction(fields: [FieldPattern("secret")], .everything, with: .mask))
            )
        )
        filter.onError = onError
        return try FilterBench([filter])
    }

    @Test func aFailingStepLeavesTheLogAsItWas() throws {
        let result = try failing(.keep).apply([[("j", #"{"a":1,"#)]])
        #expect(result.kept.map(\.fields) == [[#"j={"a":1,"#, "after=1"]])
    }

    @Test func aFailingStepDropsTheLog() throws {
        let bench = try failing(.drop)
        let result = try bench.apply([[("j", "no")], [("j", "{}")]])
        #expect(result.kept.map(\.fields) == [["after=1"]])
        #expect(result.dropped == 1)
        let counts: Counts<FilterCounter> = [.seen: 2, .changed: 1, .dropped: 1, .failed: 1]
        #expect(bench.counters.counts.map(\.counts) == [counts])
    }

    @Test func aDeadLetterIsRedacted() throws {
        let result = try failing(.deadLetter).apply([[("j", "no"), ("secret", "abc")]])
        #expect(result.kept.isEmpty)
        let dead = try #require(result.dead.first)
        #expect(dead.logs.logs.texts == [["j=no", "secret=***"]])
        #expect(dead.logs.fault.code == "FilterFailed")
        #expect(
            dead.logs.fault.message
                == "step 0 of the filter parse failed: the value is no JSON object"
        )
    }

    @Test func tooMuchFailsTheStep() throws {
        var limits = LogLimits()
        (limits.valueBytes, limits.fields) = (8, 2)
        let bench = try FilterBench(
            [
                try filter(
                    "F",
                    nil,
                    try set("a", "123456789"),
                    try set("c", "1"),
                    try set(String(repeating: "n", count: 129), "1")
                )
            ],
            limits: limits
        )
        #expect(try bench.result([("a", "1"), ("b", "2")]) == ["a=1", "b=2"])
        #expect(try bench.result([("a", "1")]) == ["a=1", "c=1"])
    }

    @Test func aTraceTellsEachStep() throws {
        let trace = FilterTrace()
        let bench = try FilterBench([
            try filter(
                "F",
                nil,
                FilterStep(.drop, when: .field("a", .exists(false))),
                try set("a", "2"),
                try set("a", "2"),
                try tag("new"),
                FilterStep(.drop)
            )
        ])
        _ = try bench.apply([[("a", "1")]], trace: trace)
        let steps = try #require(trace.logs.first).steps
        #expect(
            steps.map(\.effect) == [.skipped, .changed, .unchanged, .tagged("new"), .dropped]
        )
        #expect(steps.map { $0.before.first?.value } == [nil, "1", nil, nil, nil])
        #expect(steps.map { $0.after.first?.value } == [nil, "2", nil, nil, nil])
        #expect(trace.logs.first?.end == .droppedBy(filter: 0))
    }

    @Test func aTraceHasABound() throws {
        let trace = FilterTrace(bytesMax: 1000)
        let bench = try FilterBench([try filter("F", nil, try set("a", "{{field:a}}x"))])
        let logs = Array(repeating: [("a", String(repeating: "y", count: 99))], count: 100)
        _ = try bench.apply(logs, trace: trace)
        #expect(trace.isCut && trace.logs.count == 100)
        #expect(1...9 ~= trace.logs.reduce(0) { $0 + $1.steps.count })
        #expect(trace.logs.last?.fields == nil && trace.logs.last?.tag == "app")
    }

    @Test func aTraceFollowsTheFirstLogsOnly() throws {
        let trace = FilterTrace(logsMax: 3)
        let bench = try FilterBench([try filter("F", nil, try set("a", "{{field:a}}x"))])
        _ = try bench.apply((0..<5).map { [("a", "\($0)")] }, trace: trace)
        #expect(trace.isCut)
        #expect(trace.logs.map { $0.fields?.first?.value } == ["0x", "1x", "2x"])
        #expect(trace.logs.allSatisfy { $0.steps.count == 1 })
    }

    @Test func damagedLogsAreRefused() throws {
        let bench = try FilterBench([try filter("F", nil, FilterStep(.drop))])
        for bytes: [UInt8] in [[0x0A, 0x01, 0x08], [0x0A], [1, 2, 3], [0x0A, 0x00]] {
            let logs = EncodedLogs(bytes: bytes, count: 1)
            #expect(throws: LogDecodingError.self) {
                try bench.filter.apply(to: logs, bench.plans.plan(for: "a"))
            }
        }
    }
}
