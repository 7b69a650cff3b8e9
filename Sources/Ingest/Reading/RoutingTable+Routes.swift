import Configuration
import Logs
import Queue
import Routing
import SLS
import System

extension RoutingTable {
    var hasRoutes: Bool { router?.rules.routes != nil }

    var hasFilters: Bool { router?.rules.filters.isEmpty == false }

    /// So many logs may filters make of one.
    static func growth(_ router: Router?) -> Int {
        (router?.rules.filters ?? []).flatMap(\.steps).reduce(1) { growth, step in
            guard case .split(let splitting) = step.action else { return growth }
            return min(growth * splitting.most, 1 << 20)
        }
    }

    /// The configuration was checked with a router of its own.
    static func router(_ rules: RoutingRules) -> Router? {
        guard !rules.isEmpty else { return nil }
        do {
            return try Router(rules)
        } catch {
            preconditionFailure("filters and routes were checked: \(error)")
        }
    }

    static func commonIntake(_ configuration: GatewayConfiguration) -> Destination.Intake? {
        var reached = Set((configuration.routing.routes ?? []).flatMap(\.destinations))
        reached.insert(configuration.defaultDestination.name)
        let intakes = configuration.destinations
            .filter { reached.contains($0.name) && !$0.isRemoved }.map(\.intake)
        guard let first = intakes.first, intakes.allSatisfy({ $0.rules == first.rules }) else {
            return nil
        }
        return first
    }

    /// The rules by which logs are decoded. Where the destinations of routes have different ones,
    /// logs are decoded without a bound of their times, and oversized ones are kept apart;
    /// `LogDispatch` then applies each destination's.
    func rules(for target: Target) -> LogRules {
        target.isRouted && routedIntake == nil ? LogRules(oversize: .setAside) : target.intake.rules
    }

    func isRequired(_ name: String) -> Bool { names[name]?.destination.isRequired ?? true }

    var routedRulesDiffer: Bool { hasRoutes && routedIntake == nil }

    /// How a request that routes decide about addressed its logs.
    func routedTarget(_ address: LogAddress) -> Target {
        switch address {
        case .logstore(let name): target(fallback, name, isRouted: true)
        case .tag(let tag): target(fallback, Self.firstTerm(tag), tag, isRouted: true)
        }
    }

    /// The target at a destination that a route names; nil when no such destination runs. Where it
    /// accepts every logstore, that is the address's, or the first term of the tag.
    func target(
        atDestination name: String,
        _ address: Target,
        tag: String
    ) throws(Refusal) -> Target? {
        guard let site = names[name] else { return nil }
        return try target(at: site, address, tag: tag)
    }

    func unroutedTarget(_ address: Target, tag: String) throws(Refusal) -> Target {
        try target(at: fallback, address, tag: tag)
    }

    private func target(
        at site: RoutedDestination,
        _ address: Target,
        tag: String
    ) throws(Refusal) -> Target {
        if let only = site.destination.onlyLogstore { return target(site, only, address.tag) }
        guard case .any = site.destination.logstore else {
            return target(site, site.destination.logstore.name, address.tag)
        }
        let term = Self.firstTerm(tag)
        if address.tag != nil, NamePattern.logstore.problem(with: term) == nil {
            return target(site, term, address.tag)
        }
        // A tag of the body, or a filter's, may be no logstore's name.
        if let problem = NamePattern.logstore.problem(with: address.logstore) {
            throw Refusal(404, "LogStoreNotExist", clipped(problem, to: 160))
        }
        return target(site, address.logstore, address.tag)
    }

    /// No logstore's name has a dot.
    static func firstTerm(_ tag: String) -> String {
        String(tag[..<(tag.utf8.firstIndex(of: UInt8(ascii: ".")) ?? tag.endIndex)])
    }
}
