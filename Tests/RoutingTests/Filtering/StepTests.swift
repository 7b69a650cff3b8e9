import Logs
import Testing

@testable import Routing

@Suite struct StepTests {
    private func assign(_ field: String, _ value: String) throws -> Assignment {
        Assignment(field: field, value: try Template(value))
    }

    private func patterns(_ texts: String...) -> [FieldPattern] { texts.map { FieldPattern($0) } }

    @Test func addsWhatIsNotThere() throws {
        let bench = try FilterBench(
            FilterStep(.add([try assign("app", "shop"), try assign("a", "other")]))
        )
        #expect(try bench.result([("a", "1")]) == ["a=1", "app=shop"])
        #expect(try bench.result([("app", ""), ("a", "1")]) == ["app=", "a=1"])
    }

    @Test func setsInPlace() throws {
        let bench = try FilterBench(
            FilterStep(.set([try assign("b", "{{field:a}}-{{tag}}-{{field:none}}")]))
        )
        #expect(try bench.result([("b", "1"), ("a", "2")]) == ["b=2-app-", "a=2"])
        #expect(try bench.result([("a", "2")]) == ["a=2", "b=2-app-"])
        #expect(try bench.result([("b", "1"), ("b", "2")]) == ["b=-app-"])
    }

    @Test func aTemplateHasTheSender() throws {
        let bench = try FilterBench(
            FilterStep(.set([try assign("x", "{{client_ip}} {{key}} {{receipt}}")]))
        )
        let sender = SenderText(clientIP: "::1", key: "phone", receipt: "r1")
        #expect(try bench.apply([[]], sender: sender).kept.first?.fields == ["x=::1 phone r1"])
    }

    @Test func renames() throws {
        let bench = try FilterBench(
            FilterStep(
                .rename([Renaming(from: "uid", to: "user"), Renaming(from: "user", to: "id")])
            )
        )
        #expect(try bench.result([("uid", "1"), ("id", "2"), ("x", "3")]) == ["id=1", "x=3"])
        #expect(try bench.result([("id", "2")]) == ["id=2"])
    }

    @Test func removesAndKeeps() throws {
        let log = [("password", "1"), ("debug_a", "2"), ("a_x_b", "3"), ("debug", "4"), ("", "5")]
        let removing = try FilterBench(
            FilterStep(.remove(patterns("password", "debug_*", "a*x*b")))
        )
        #expect(try removing.result(log) == ["debug=4", "=5"])
        let keeping = try FilterBench(FilterStep(.keep(patterns("password", "debug_*"))))
        #expect(try keeping.result(log) == ["password=1", "debug_a=2"])
        let clearing = try FilterBench(FilterStep(.remove(patterns("*"))))
        #expect(try clearing.result(log) == [])
    }

    @Test func truncatesAtTheEndOfACharacter() throws {
        let truncation = Truncation(fields: patterns("a"), bytes: 4)
        let bench = try FilterBench(FilterStep(.truncate(truncation)))
        #expect(try bench.result([("a", "日本"), ("b", "12345")]) == ["a=日", "b=12345"])
        #expect(try bench.result([("a", "1234")]) == ["a=1234"])
    }

    @Test func samplesTheSameOnEachGateway() throws {
        let step = FilterStep(.sample(Sampling(keep: 250_000, by: "device")))
        let logs = (0..<4000).map { [("device", "d\($0)")] }
        let first = try FilterBench(step).apply(logs)
        #expect(900..<1100 ~= first.kept.count)
        #expect(first.sampledOut == 4000 - first.kept.count)
        #expect(try FilterBench(step).apply(logs).kept == first.kept)
        // This hash must never change: gateways of different versions sample the same devices.
        #expect(Array("d1".utf8).withUnsafeBufferPointer { stableHash($0) } == 0x47374fb2a83ef376)
        let chance = try FilterBench(FilterStep(.sample(Sampling(keep: 250_000)))).apply(logs)
        #expect(800..<1200 ~= chance.kept.count)
    }

    @Test func dropsWhatACompositeConditionNames() throws {
        let isDebug = Condition.field("level", .isOneOf(["debug", "trace"]))
        let isHealth = Condition.field("path", .matches(try TextPattern("^/health")))
        let bench = try FilterBench(FilterStep(.drop, when: .all([isDebug, .not(isHealth)])))
        #expect(try bench.result([("level", "debug"), ("path", "/x")]) == nil)
        #expect(try bench.result([("level", "debug"), ("path", "/healthz")]) != nil)
        #expect(try bench.result([("level", "info")]) != nil)
    }

    @Test(arguments: [
        ("5", true), ("5.0", true), ("1e1", true), ("+7", true), ("4.99", false), ("", false),
        ("six", false), ("5x", false), ("0x10", false), ("inf", false), (".", false),
    ])
    func comparesNumbers(value: String, isDropped: Bool) throws {
        let bench = try FilterBench(FilterStep(.drop, when: .field("n", .atLeast(5))))
        #expect((try bench.result([("n", value)]) == nil) == isDropped)
    }

    @Test func asksForExistenceAndTag() throws {
        let isAbsent = Condition.field("a", .exists(false))
        let isNoise = Condition.tag([try TagPattern("noise.*")])
        let bench = try FilterBench(FilterStep(.drop, when: .any([isAbsent, isNoise])))
        #expect(try bench.result([("b", "")]) == nil)
        #expect(try bench.result([("a", "")]) != nil)
        #expect(try bench.result([("a", "")], tag: "noise.x") == nil)
    }

    @Test func reservedNamesAreStoredAsDecodersStoreThem() throws {
        let bench = try FilterBench(
            FilterStep(.set([try assign("__time__", "1"), try assign("__topic__", "2")])),
            FilterStep(.parse(Parsing(field: "j", .json, removesSource: true)))
        )
        let log = [("j", #"{"__source__":"3","":"4"}"#)]
        #expect(
            try bench.result(log) == [
                "__original_time__=1", "field__topic__=2", "field__source__=3", "__empty__=4",
            ]
        )
    }

    @Test func unchangedLogsAreTheSameBytes() throws {
        let bench = try FilterBench(FilterStep(.drop, when: .field("x", .isOneOf(["drop"]))))
        let logs = FilterBench.encoded([[("a", "1")], [("x", "2")]])
        let result = try bench.filter.apply(to: logs, bench.plans.plan(for: "app"))
        #expect(result.groups.map(\.logs) == [logs])
    }

    private static let sender = SenderText { part in
        switch part {
        case .query("app"): Array("shop".utf8)
        case .header("x-level"): Array("7".utf8)
        case .host: Array("log.example.com".utf8)
        case .method: Array("POST".utf8)
        case .path: Array("/logs/pv.home".utf8)
        default: nil
        }
    }

    @Test(
        "Conditions ask the request",
        arguments: [
            (.request(.query("app"), .isOneOf(["shop", "web"])), true),
            (.request(.query("none"), .isOneOf(["shop"])), false),
            (.request(.query("none"), .exists(false)), true),
            (.request(.header("x-level"), .atLeast(7)), true),
            (.request(.header("x-level"), .atLeast(8)), false),
            (.request(.host, .isLike(["*.example.com"])), true),
            (.request(.host, .isLike(["log.example", "example.com"])), false),
            (.request(.method, .isLike(["GET", "POST"])), true),
            (.request(.path, .isLike(["/logs/pv.*"])), true),
            (.request(.path, .isLike(["/logs/*.away"])), false),
            (.not(.request(.path, .isLike(["*"]))), false),
        ] as [(Condition, Bool)]
    )
    func conditions(condition: Condition, holds: Bool) throws {
        let bench = try FilterBench(FilterStep(.drop, when: condition))
        let result = try bench.apply([[("a", "1")], [("b", "2")]], sender: Self.sender)
        #expect(result.dropped == (holds ? 2 : 0))
        // The next request is asked by itself: this one has no part.
        let isAbsence = condition == .request(.query("none"), .exists(false))
        let isNot = if case .not = condition { true } else { false }
        #expect(try bench.apply([[("a", "1")]]).dropped == (isAbsence || isNot ? 1 : 0))
    }

    @Test("A configuration asks a bounded number of parts")
    func bound() throws {
        let steps = { (count: Int) in
            (0..<count).map {
                FilterStep(.drop, when: .not(.request(.query("q\($0)"), .exists(true))))
            }
        }
        _ = try FilterBench([
            Filter(name: "a", steps: steps(64)), Filter(name: "b", steps: steps(64)),
        ])
        var rules = RoutingRules()
        let more = FilterStep(.drop, when: .request(.path, .isLike(["*"])))
        rules.filters = [Filter(name: "a", steps: steps(64)), Filter(name: "b", steps: [more])]
        #expect(throws: RoutingProblem.self) { try Router(rules) }
    }
}
