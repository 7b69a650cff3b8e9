import Routing

extension RoutingRules {
    /// What can never have an effect, though nothing in it is wrong.
    var warnings: [String] {
        stepsBehindDrop + filtersBehindDrop + routesBehindLast + unroutedWithoutRoutes
    }

    private var stepsBehindDrop: [String] {
        filters.enumerated().compactMap { index, filter in
            guard let drop = filter.drop, drop + 1 < filter.steps.count else { return nil }
            return
                "filters[\(index)].steps[\(drop)] drops every log, so the steps after it have no effect; "
                + "give it a condition (when), or take them away"
        }
    }

    private var filtersBehindDrop: [String] {
        filters.indices.compactMap { later in
            let first = filters[..<later].indices.first { earlier in
                filters[earlier].drop != nil
                    && filters[earlier].patterns.cover(filters[later].patterns)
                    // A log whose tag is changed in between did not have this tag at the earlier
                    // filter.
                    && !filters[(earlier + 1)..<later].contains { $0.changesTag }
            }
            return first.map {
                "filters[\(later)] never sees a log, because filters[\($0)] drops every log that it matches; "
                    + "change their order, or take one of them away"
            }
        }
    }

    private var routesBehindLast: [String] {
        let routes = routes ?? []
        return routes.indices.compactMap { later in
            let first = routes[..<later].indices.first {
                routes[$0].isLast && routes[$0].patterns.cover(routes[later].patterns)
            }
            return first.map {
                "routes[\(later)] never takes a log, because routes[\($0)] is the last for every tag that it "
                    + "matches; change their order, or take one of them away"
            }
        }
    }

    private var unroutedWithoutRoutes: [String] {
        guard routes == nil, unrouted != .defaultDestination else { return [] }
        return [
            "unrouted is \(unrouted.rawValue), which has no effect without routes; with routes: [] nothing is "
                + "routed"
        ]
    }
}

extension Filter {
    /// The step that drops every log, if there is one.
    fileprivate var drop: Int? { steps.firstIndex { $0.action == .drop && $0.condition == nil } }

    fileprivate var changesTag: Bool {
        steps.contains { step in
            if case .tag = step.action { true } else { false }
        }
    }
}

extension [TagPattern] {
    /// No pattern is every tag.
    fileprivate func cover(_ others: [TagPattern]) -> Bool {
        guard !isEmpty else { return true }
        guard !others.isEmpty else { return contains { $0.text == "**" } }
        return others.allSatisfy { other in contains { $0.covers(other) } }
    }
}

extension TagPattern {
    /// True if it certainly matches every tag that the other pattern matches: both are the same,
    /// this one is `**`, or this one is `a.b.**` and the other begins with `a.b`. Other cases are
    /// not examined.
    fileprivate func covers(_ other: TagPattern) -> Bool {
        if text == "**" || text == other.text { return true }
        let start = text.dropLast(3)
        // In a list of patterns with spaces between them, each has a beginning of its own.
        guard text.hasSuffix(".**"), !start.contains(where: { "*{}\\/ ".contains($0) }),
            !other.text.contains(" ")
        else { return false }
        return other.text == start || other.text.hasPrefix(start + ".")
    }
}
