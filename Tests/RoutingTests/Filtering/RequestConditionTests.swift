import Testing

@testable import Routing

@Suite struct RequestConditionTests {
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
