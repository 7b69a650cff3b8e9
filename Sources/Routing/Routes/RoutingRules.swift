package import Crypto

/// Filters and routes as the configuration has them.
package struct RoutingRules: Sendable, Equatable {
    package var filters: [Filter] = []
    /// Nil: the configuration has no routes, and each request goes where its address says.
    package var routes: [Route]?
    package var unrouted = Unrouted.defaultDestination
    /// The key of `redact … with: hash`.
    package var secret: Secret?

    /// Header fields that conditions may ask, in lower case.
    package var headers: [String] = []

    package init() {}

    package var isEmpty: Bool { filters.isEmpty && routes == nil }

    /// A filter redacts logs of some tag.
    package var redacts: Bool { filters.contains(where: \.redacts) }

    package var makesHashes: Bool {
        filters.lazy.flatMap(\.steps).contains { step in
            if case .redact(let redaction) = step.action { redaction.with == .hash } else { false }
        }
    }

    /// The most logs that filters make of one.
    package var growth: Int {
        filters.flatMap(\.steps).reduce(1) { growth, step in
            guard case .split(let splitting) = step.action else { return growth }
            return min(growth * splitting.most, 1 << 20)
        }
    }

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
            step.condition?.forEachLeaf {
                if case .request(let part, _) = $0 { parts.insert(part) }
            }
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

/// The destinations of logs whose tag matches.
package struct Route: Sendable, Equatable {
    package static let routesMax = 1024
    package static let destinationsMax = 16

    /// None: every tag.
    package var patterns: [TagPattern]
    /// Names of destinations. None: the log is dropped on purpose, and counted.
    package var destinations: [String]
    /// True: later routes do not see what this one matches.
    package var isLast: Bool

    package init(patterns: [TagPattern] = [], to destinations: [String], isLast: Bool = false) {
        self.patterns = patterns
        self.destinations = destinations
        self.isLast = isLast
    }
}

/// What becomes of a log that no route takes.
package enum Unrouted: String, Sendable, CaseIterable {
    case defaultDestination = "default"
    case drop
    /// A dead letter of the default destination.
    case deadLetter = "dead_letter"
}

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
