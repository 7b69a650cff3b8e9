/// Why filters and routes cannot be used.
package struct RoutingProblem: Error, Equatable, CustomStringConvertible {
    package enum Place: Sendable, Equatable {
        case filter(index: Int, name: String)
        case route(index: Int)
        /// Filters and routes together.
        case all
    }

    package let place: Place
    package let reason: String

    package init(place: Place, reason: String) {
        self.place = place
        self.reason = reason
    }

    package var description: String {
        switch place {
        case .filter(let index, let name):
            let path = "filters[\(index)]"
            return name == path ? "\(path): \(reason)" : "\(path) (\(name)): \(reason)"
        case .route(let index): return "routes[\(index)]: \(reason)"
        case .all: return "filters and routes: \(reason)"
        }
    }
}

extension RoutingRules {
    /// Checks the numbers of filters, steps, routes and destinations.
    func check() throws(RoutingProblem) {
        for (index, filter) in filters.enumerated() {
            func problem(_ reason: String) -> RoutingProblem {
                RoutingProblem(place: .filter(index: index, name: filter.name), reason: reason)
            }
            guard index < Filter.filtersMax else {
                throw problem("there are more than \(Filter.filtersMax) filters")
            }
            guard filter.steps.count <= Filter.stepsMax else {
                throw problem("\(filter.steps.count) steps are more than \(Filter.stepsMax)")
            }
        }
        var parts: Set<RequestPart> = []
        for step in filters.lazy.flatMap(\.steps) {
            step.condition?.forEachPart { parts.insert($0) }
        }
        guard parts.count <= RequestPart.countMax else {
            throw RoutingProblem(
                place: .all,
                reason:
                    "conditions ask \(parts.count) parameters and header fields of requests; ask at "
                    + "most \(RequestPart.countMax)"
            )
        }
        for (index, route) in (routes ?? []).enumerated() {
            func problem(_ reason: String) -> RoutingProblem {
                RoutingProblem(place: .route(index: index), reason: reason)
            }
            guard index < Route.routesMax else {
                throw problem("there are more than \(Route.routesMax) routes")
            }
            guard route.destinations.count <= Route.destinationsMax else {
                let count = route.destinations.count
                throw problem("\(count) destinations are more than \(Route.destinationsMax)")
            }
        }
    }
}

extension Condition {
    package func forEachPart(_ body: (RequestPart) -> Void) {
        switch self {
        case .field, .tag: break
        case .request(let part, _): body(part)
        case .all(let conditions), .any(let conditions):
            for condition in conditions { condition.forEachPart(body) }
        case .not(let condition): condition.forEachPart(body)
        }
    }
}
