import Testing

@testable import Routing

@Suite struct RouterTests {
    private func router(
        filters: [[String]] = [],
        routes: [Route]? = nil,
        conditions: [[String]] = []
    ) throws -> Router {
        var rules = RoutingRules()
        rules.filters = try filters.enumerated().map { index, patterns in
            Filter(
                name: "filters[\(index)]",
                patterns: try patterns.map(TagPattern.init),
                steps: []
            )
        }
        for list in conditions {
            let tag = Condition.tag(try list.map(TagPattern.init))
            rules.filters[0].steps.append(FilterStep(.drop, when: .not(.all([tag]))))
        }
        rules.routes = routes
        return try Router(rules)
    }

    private func route(_ pattern: String, _ destinations: String..., last: Bool = false) throws
        -> Route
    {
        Route(patterns: [try TagPattern(pattern)], to: destinations, isLast: last)
    }

    @Test func filtersApplyInOrderWithTheFirstPatternsCapture() throws {
        let plan = try router(filters: [["x", "pv.*", "pv.**"], [], ["a"], ["**"]]).plan(
            for: "pv.a"
        )
        #expect(plan.filters.map(\.index) == [0, 1, 3])
        #expect(plan.filters.map(\.captured) == ["a", nil, "pv.a"])
        #expect(plan.outcome == .addressed)
    }

    @Test func eachMatchingRouteTakesTheLog() throws {
        let router = try router(routes: [
            route("a.**", "one"), route("a.b", "two", "one"), route("a.*", last: true),
            route("**", "all"),
        ])
        let plan = router.plan(for: "a.b")
        #expect(plan.routes == [0, 1, 2])
        #expect(plan.destinations == ["one", "two"])
        #expect(plan.outcome == .routed)
        #expect(router.plan(for: "b").destinations == ["all"])
    }

    @Test func aRouteWithoutDestinationsDrops() throws {
        let router = try router(routes: [
            route("noise.*", last: true), route("a", "one"), route("a"),
        ])
        #expect(router.plan(for: "noise.x").outcome == .dropped)
        #expect(router.plan(for: "a").outcome == .routed)
        #expect(router.plan(for: "b").outcome == .unrouted)
    }

    @Test func aConditionHasANumber() throws {
        let router = try router(filters: [[]], conditions: [["a"], ["b", "c.*"], ["a"]])
        let first = try #require(router.condition([TagPattern("a")]))
        let second = try #require(router.condition([TagPattern("b"), TagPattern("c.*")]))
        #expect(try router.condition([TagPattern("b")]) == nil)
        let plan = router.plan(for: "c.d")
        #expect(!plan.holds(first) && plan.holds(second))
    }

    @Test func expressionsAreMatchedToo() throws {
        let router = try router(routes: [route("/(?!a).*/ a.b", "one")])
        #expect(router.plan(for: "a.b").outcome == .routed)
        #expect(router.plan(for: "b").outcome == .routed)
        #expect(router.plan(for: "a").outcome == .unrouted)
    }

    @Test func theCacheIsBounded() throws {
        let plans = TagPlans(try router(filters: [["**"]]))
        for number in 0..<5000 {
            #expect(plans.plan(for: "device.\(number)").tag == "device.\(number)")
        }
        #expect(plans.count <= TagPlans.plansMax)
        let plan = plans.plan(for: "device.1")
        #expect(plans.plan(for: "device.1") === plan)
        let long = String(repeating: "x", count: 600)
        #expect(plans.plan(for: long) !== plans.plan(for: long))
        #expect(plans.plan(for: "").filters.map(\.captured) == [""])
    }

    @Test(arguments: [
        ("a.*", "a.b.c", "`a.*` wants exactly one term after `a.`; the tag has two"),
        ("a.*", "a", "`a.*` wants exactly one term after `a.`; the tag has none"),
        ("a.b", "a.b.c", "`a.b` wants 2 terms; the tag has 3"),
        ("*.x {q,a.b}", "a.c", "`a.b` wants `b` as term 2; the tag has `c`"),
        ("*", "a.b", "`*` wants one term; the tag has 2"),
        ("a.b.**", "a", "`a.b.**` wants at least 2 terms; the tag has 1"),
        ("a.**.c", "a.b", "`a.**.c` wants `c` at the end; the tag ends with `b`"),
        ("PV.*", "pv.a", "`PV.*` differs in upper and lower case only"),
        ("a.**", "a.b", nil), ("x.*", "a.b", nil), ("/x/", "a", nil), ("", "a", nil),
    ])
    func nearMissesTellWhy(pattern: String, tag: String, why: String?) throws {
        let router = try router(routes: [
            Route(patterns: pattern.isEmpty ? [] : [TagPattern(pattern)], to: [])
        ])
        let misses = router.nearMisses(tag)
        #expect(misses.map(\.why) == [why].compactMap(\.self))
        #expect(misses.allSatisfy { $0.match == pattern })
    }

    @Test func limitsNameTheirPlace() throws {
        #expect(
            throws: RoutingProblem(
                place: .route(index: 1024),
                reason: "there are more than 1024 routes"
            )
        ) {
            try router(routes: (0..<1025).map { try route("a\($0)") })
        }
        #expect(
            throws: RoutingProblem(
                place: .filter(index: 0, name: "filters[0]"),
                reason: "65 steps are more than 64"
            )
        ) { try router(filters: [[]], conditions: Array(repeating: ["a"], count: 65)) }
        #expect(throws: RoutingProblem.self) {
            try router(
                routes: (0..<200).map { try route("\($0)" + String(repeating: "x", count: 200)) }
            )
        }
    }
}
