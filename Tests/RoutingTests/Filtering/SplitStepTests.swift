import Logs
import System
import Testing

@testable import Routing

@Suite struct SplitStepTests {
    private static let log = [("app", "shop"), ("items", #"[{"n":1},"two\n",3,null]"#), ("z", "1")]

    private func split(_ as: String? = "item", most: Int = 1000) -> FilterStep {
        FilterStep(.split(Splitting(field: "items", as: `as`, most: most)))
    }

    @Test func eachElementBecomesALogWithTheOtherFields() throws {
        let result = try FilterBench(split()).apply([Self.log, [("a", "1")]])
        #expect(
            result.kept.map(\.fields) == [
                ["app=shop", "z=1", #"item={"n":1}"#], ["app=shop", "z=1", "item=two\n"],
                ["app=shop", "z=1", "item=3"], ["app=shop", "z=1", "item="], ["a=1"],
            ]
        )
        #expect(result.added == 3 && result.dropped == 0)
        // The second log of the bench has its time, with nanoseconds.
        #expect(result.groups.flatMap(\.logs.entries).map(\.time.seconds) == [0, 0, 0, 0, 1])
    }

    @Test func piecesGoOnThroughLaterStepsAndFilters() throws {
        let steps = [
            split(),
            FilterStep(.parse(Parsing(field: "item", .json, removesSource: true))),
            FilterStep(.drop, when: .field("item", .isOneOf(["3"]))),
        ]
        let later = Filter(
            name: "later",
            steps: [
                FilterStep(.tag(try Template("n.{{field:n}}")), when: .field("n", .exists(true)))
            ]
        )
        let bench = try FilterBench([Filter(name: "first", steps: steps), later])
        let result = try bench.apply([Self.log])
        #expect(result.kept.map(\.tag) == ["n.1", "app", "app"])
        #expect(result.kept[0].fields == ["app=shop", "z=1", "n=1"])
        #expect(result.dropped == 1 && result.added == 3)
        let counts = bench.counters.counts
        #expect(counts[0].counts[.seen] == 1 && counts[0].counts[.added] == 3)
        #expect(counts[0].counts[.dropped] == 1 && counts[0].counts[.failed] == 3)
        #expect(counts[1].counts[.seen] == 3)
    }

    @Test(
        "What cannot be split fails the step, and the log stays as it was",
        arguments: ["{}", "1", "[1", "[1,]", "[1]x", "[1,2,3]", ""]
    )
    func failures(value: String) throws {
        let bench = try FilterBench(split(most: 2))
        let result = try bench.apply([[("items", value)]])
        #expect(result.kept.map(\.fields) == [["items=\(value)"]])
        #expect(result.added == 0 && bench.counters.counts[0].counts[.failed] == 1)
        let strict = try FilterBench(split(most: 2), onError: .deadLetter).apply([
            [("items", value)]
        ])
        #expect(strict.dead.count == 1 && strict.groups.isEmpty)
    }

    @Test func anEmptyArrayLeavesTheLog() throws {
        let bench = try FilterBench(split())
        let result = try bench.apply([[("items", " [ ] ")]])
        #expect(result.kept.map(\.fields) == [["items= [ ] "]])
        #expect(bench.counters.counts[0].counts[.failed] == 0)
    }

    @Test func theElementMayKeepTheNameOfTheField() throws {
        let result = try FilterBench(split(nil)).apply([[("items", "[1,2]"), ("a", "b")]])
        #expect(result.kept.map(\.fields) == [["a=b", "items=1"], ["a=b", "items=2"]])
    }

    @Test("The pieces of a request are bounded in bytes, whatever the number of elements")
    func growth() throws {
        let large = String(repeating: "x", count: 100_000)
        let array = "[\(Array(repeating: "1", count: 1000).joined(separator: ","))]"
        let bench = try FilterBench(split())
        let result = try bench.apply([[("large", large), ("items", array)]])
        #expect(result.kept.map(\.fields) == [["large=\(large)", "items=\(array)"]])
        #expect(bench.counters.counts[0].counts[.failed] == 1)
        // Many logs that would be fine alone share one room.
        let small = [("large", String(large.prefix(10_000))), ("items", "[1,2,3,4,5,6,7,8,9]")]
        let many = try bench.apply(Array(repeating: small, count: 100))
        let bytes = many.groups.reduce(0) { $0 + $1.logs.bytes.count }
        #expect(many.added > 8 && bytes < LogFilter.splitBytesFree + 3 * 1_010_000)
        #expect(bench.counters.counts[0].counts[.failed] > 1)
    }

    @Test("Pieces are split again only a few times, so that the stack has a bound")
    func depth() throws {
        let steps = Array(repeating: split(nil), count: 64)
        let nested = String(repeating: "[", count: 60) + String(repeating: "]", count: 60)
        let result = try FilterBench([Filter(name: "deep", steps: steps)])
            .apply([[("items", nested)]])
        let left = 60 - LogFilter.splitsMax
        let rest = String(repeating: "[", count: left) + String(repeating: "]", count: left)
        #expect(result.kept.map(\.fields) == [["items=\(rest)"]])
    }

    @Test func aTraceListsTheStepsOfAllPieces() throws {
        let trace = FilterTrace()
        let drop = FilterStep(.drop, when: .field("item", .isOneOf(["1"])))
        _ = try FilterBench(split(), drop).apply(
            [[("items", "[1,2,3]")], [("b", "c")]],
            trace: trace
        )
        #expect(trace.logs.count == 2)
        #expect(trace.logs[0].steps.map(\.effect) == [.split(3), .dropped, .skipped, .skipped])
        #expect(trace.logs[0].end == .kept)
        #expect(trace.logs[0].fields?.map(\.value) == ["2"])
        #expect(trace.logs[1].fields?.map(\.value) == ["c"])
    }
}
