/// Filters and routes, ready to match tags. All threads share it; each reload makes another one.
package final class Router: Sendable {
    package static let nearMissesMax = 16

    package let rules: RoutingRules
    /// The distinct lists of patterns of conditions. Their numbers index `TagPlan.holds`.
    private let conditions: [[TagPattern]: Int]
    private let patterns: [TagPattern]
    private let automaton: TagAutomaton
    /// By list, the numbers of its patterns in their order.
    private let filterPatterns: [[Int]]
    private let routePatterns: [[Int]]
    fileprivate let conditionPatterns: [[Int]]

    package init(_ rules: RoutingRules) throws(RoutingProblem) {
        try rules.check()
        self.rules = rules
        var table = PatternTable()
        filterPatterns = rules.filters.map { table.numbers(of: $0.patterns) }
        routePatterns = (rules.routes ?? []).map { table.numbers(of: $0.patterns) }
        var conditions: [[TagPattern]: Int] = [:]
        var conditionPatterns: [[Int]] = []
        for step in rules.filters.lazy.flatMap(\.steps) {
            step.condition?.forEachLeaf { leaf in
                guard case .tag(let list) = leaf, conditions[list] == nil else { return }
                conditions[list] = conditionPatterns.count
                conditionPatterns.append(table.numbers(of: list))
            }
        }
        self.conditions = conditions
        self.conditionPatterns = conditionPatterns
        patterns = table.patterns
        guard let automaton = TagAutomaton(patterns) else {
            throw RoutingProblem(
                place: .all,
                reason: "all patterns together need more than \(TagAutomaton.statesMax) states;"
                    + " shorter patterns and fewer alternatives need less"
            )
        }
        self.automaton = automaton
    }

    /// The number of a condition `tag`, for `TagPlan.holds`. Nil: no step has this condition.
    package func condition(_ patterns: [TagPattern]) -> Int? { conditions[patterns] }

    /// What logs of a tag go through. Threads ask their `TagPlans`.
    package func plan(for tag: String) -> TagPlan {
        var tag = tag
        return tag.withUTF8 { plan(for: $0) }
    }

    package func plan(for tag: UnsafeBufferPointer<UInt8>) -> TagPlan {
        withUnsafeTemporaryAllocation(of: Bool.self, capacity: patterns.count) { matched in
            matched.initialize(repeating: false)
            automaton.matches(tag) { matched[$0] = true }
            return TagPlan(tag, of: self, matched)
        }
    }

    /// Routes that match the plan's tag and come after one that is `last`: for the tester.
    package func routesBehindLast(_ plan: TagPlan) -> [Int] {
        guard let routes = rules.routes, let last = plan.routes.last, routes[last].isLast else {
            return []
        }
        return (last + 1..<routes.count).filter { index in
            routePatterns[index].isEmpty
                || routePatterns[index].contains { patterns[$0].match(plan.tag) != nil }
        }
    }

    /// Patterns of filters and routes that almost match, and why they do not: for the tester.
    package func nearMisses(_ tag: String) -> [(match: String, why: String)] {
        let listed = Set((filterPatterns + routePatterns).joined()).sorted()
        let misses = listed.lazy.compactMap { number in
            self.patterns[number].nearMiss(tag).map { why in
                (match: self.patterns[number].text, why: why)
            }
        }
        return Array(misses.prefix(Self.nearMissesMax))
    }

    fileprivate func matchingFilters(
        _ tag: UnsafeBufferPointer<UInt8>,
        _ matched: UnsafeMutableBufferPointer<Bool>
    ) -> [(index: Int, captured: String?)] {
        var found: [(index: Int, captured: String?)] = []
        for (index, list) in filterPatterns.enumerated() {
            if list.isEmpty {
                found.append((index, nil))
            } else if let first = list.first(where: { matched[$0] }) {
                found.append((index, patterns[first].match(tag)?.captured))
            }
        }
        return found
    }

    fileprivate func matchingRoutes(_ matched: UnsafeMutableBufferPointer<Bool>) -> [Int] {
        guard let routes = rules.routes else { return [] }
        var found: [Int] = []
        for (index, list) in routePatterns.enumerated() {
            guard list.isEmpty || list.contains(where: { matched[$0] }) else { continue }
            found.append(index)
            if routes[index].isLast { break }
        }
        return found
    }

    /// Each once, in the order of the routes.
    fileprivate func destinations(of routes: [Int]) -> [String] {
        var seen: Set<String> = []
        return routes.flatMap { rules.routes?[$0].destinations ?? [] }
            .filter { seen.insert($0).inserted }
    }
}

/// Numbers patterns; the same text has one number.
private struct PatternTable {
    var patterns: [TagPattern] = []
    private var numbers: [TagPattern: Int] = [:]

    mutating func numbers(of list: [TagPattern]) -> [Int] {
        list.map { pattern in
            if let known = numbers[pattern] { return known }
            numbers[pattern] = patterns.count
            patterns.append(pattern)
            return patterns.count - 1
        }
    }
}

/// What logs of one tag go through.
package final class TagPlan: Sendable {
    package enum Outcome: Sendable, Equatable {
        case routed
        /// All routes that match have no destinations.
        case dropped
        /// No route matches; `RoutingRules.unrouted` decides.
        case unrouted
        /// The configuration has no routes; the request's address decides.
        case addressed
    }

    package let tag: String
    /// Filters that match, in order, and what the last wildcard of the first matching pattern took.
    package let filters: [(index: Int, captured: String?)]
    /// Routes that match, up to the first with `last`.
    package let routes: [Int]
    /// Each once, in the order of the routes.
    package let destinations: [String]
    package let outcome: Outcome
    private let conditions: [Bool]

    /// `matched` tells of each pattern of the router if it matches the tag.
    fileprivate init(
        _ tag: UnsafeBufferPointer<UInt8>,
        of router: Router,
        _ matched: UnsafeMutableBufferPointer<Bool>
    ) {
        self.tag = String(decoding: tag, as: UTF8.self)
        filters = router.matchingFilters(tag, matched)
        conditions = router.conditionPatterns.map { list in list.contains { matched[$0] } }
        routes = router.matchingRoutes(matched)
        destinations = router.destinations(of: routes)
        outcome =
            router.rules.routes == nil
            ? .addressed
            : routes.isEmpty ? .unrouted : destinations.isEmpty ? .dropped : .routed
    }

    /// `condition` is a number from `Router.condition`.
    package func holds(_ condition: Int) -> Bool { conditions[condition] }

    fileprivate func isFor(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        tag.utf8.count == bytes.count && tag.utf8.elementsEqual(bytes)
    }
}

/// A thread's cache of plans. Devices invent tags, so it has a bound: a plan replaces the one in
/// its slot.
package final class TagPlans {
    /// A power of two.
    package static let plansMax = 1024
    /// A longer tag is planned each time, which bounds the cache's memory.
    package static let tagBytesMax = 512

    package let router: Router
    private var slots: [TagPlan?]

    package init(_ router: Router) {
        self.router = router
        slots = Array(repeating: nil, count: Self.plansMax)
    }

    package var count: Int { slots.count { $0 != nil } }

    package func plan(for tag: String) -> TagPlan {
        var tag = tag
        return tag.withUTF8 { plan(for: $0) }
    }

    /// True: a filter redacts something of logs with this tag, or of the tag that a filter gives
    /// them.
    package func redacts(_ tag: String) -> Bool {
        let filters = plan(for: tag).filters.map { router.rules.filters[$0.index] }
        return filters.contains(where: \.redacts)
            || router.rules.redacts && filters.contains(where: \.retags)
    }

    package func plan(for tag: UnsafeBufferPointer<UInt8>) -> TagPlan {
        guard tag.count <= Self.tagBytesMax else { return router.plan(for: tag) }
        // The process's random seed is in the hash, so a sender cannot choose tags that share a
        // slot.
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(tag))
        let slot = hasher.finalize() & (Self.plansMax - 1)
        if let plan = slots[slot], plan.isFor(tag) { return plan }
        let plan = router.plan(for: tag)
        slots[slot] = plan
        return plan
    }
}
