package import Configuration
import HTTP
import Logs
import Queue
package import Routing
import SLS
import System

/// Finds the destination of a request.
///
/// The project is the first label of `Host` if a destination has it, otherwise the default
/// destination's. Within the project the logstore decides; a destination that names the logstore
/// takes precedence over "*".
///
/// The table and its destinations are objects, because each request refers to them several times
/// and copies of their settings would cost dozens of reference counts.
package final class RoutingTable: Sendable {
    /// A destination with the settings that its logs need.
    final class RoutedDestination: Sendable {
        let destination: Destination
        let labels: Destination.Labels
        let intake: Destination.Intake
        /// Those of the intake, made once.
        let rules: LogRules
        let sourceNamesClient: Bool
        /// Logs get facts about their sender.
        let isStamped: Bool

        init(_ destination: Destination) {
            self.destination = destination
            labels = destination.labels
            intake = destination.intake
            rules = intake.rules
            sourceNamesClient = labels.source.contains(Destination.Labels.clientIP)
            isStamped = sourceNamesClient || !intake.stamps.isEmpty
        }

        var name: String { destination.name }
    }

    /// Where the logs of a request go, with the settings that apply there.
    struct Target {
        let site: RoutedDestination
        var logstore: String
        /// The tag, for a request that has one instead of a logstore.
        var tag: String?
        /// True: routes decide about the destination. The target tells how the request addressed
        /// its logs; its destination is the default one.
        var isRouted = false

        var destination: String { site.destination.name }
        var labels: Destination.Labels { site.labels }
        var intake: Destination.Intake { site.intake }
        var rules: LogRules { site.rules }
        /// False: a request is taken also when the destination has no room for its logs.
        var isRequired: Bool { site.destination.isRequired }
        var outlet: Outlet { Outlet(destination: destination, logstore: logstore) }
    }

    private let projects: [String: [RoutedDestination]]
    /// The destinations of a request that names no project of the table.
    private let usual: [RoutedDestination]
    /// True: a host may lead to another project than the usual one, or past the routes. Otherwise
    /// it is not looked up.
    private let hostDecides: Bool
    let fallback: RoutedDestination
    let names: [String: RoutedDestination]
    /// nil: there are neither filters nor routes.
    package let router: Router?
    /// So many logs may filters make of one.
    let growth: Int
    /// A filter redacts logs of some tag.
    let redacts: Bool
    /// The common rules of the destinations that routes can reach; nil: they differ.
    let routedIntake: Destination.Intake?

    package init(_ configuration: GatewayConfiguration) {
        let present = configuration.destinations.filter { !$0.isRemoved }
            .map { RoutedDestination($0) }
        // One without a project is reached as the default destination alone, and by routes.
        let projects = Dictionary(
            grouping: present.filter { $0.destination.kind == .sls },
            by: \.destination.project
        )
        fallback = RoutedDestination(configuration.defaultDestination)
        let project = fallback.destination.kind == .sls ? fallback.destination.project : nil
        self.projects = projects
        usual = project.flatMap { projects[$0] } ?? [fallback]
        hostDecides =
            configuration.routing.routes != nil || projects.keys.contains { $0 != project }
        names = Dictionary(present.map { ($0.name, $0) }) { first, _ in first }
        router = Self.router(configuration.routing)
        growth = configuration.routing.growth
        redacts = configuration.routing.redacts
        routedIntake = Self.commonIntake(configuration)
    }

    func target(of head: RequestHead, _ address: LogAddress) throws(Refusal) -> Target {
        let host = hostDecides ? head.field("host") : nil
        return try target(host: host, project: head.field("x-log-project"), address)
    }

    func target(
        host: String?,
        project: String?,
        _ address: LogAddress
    ) throws(Refusal) -> Target {
        if hasRoutes, !isAddressed(project, host: host) { return routedTarget(address) }
        switch address {
        case .logstore(let name): return try target(host: host, project: project, logstore: name)
        case .tag(let tag): return try target(host: host, project: project, tag: tag)
        }
    }

    /// The target of a request with a logstore in its path. `host` and `project` are the `Host` and
    /// `x-log-project` headers; clients send the latter when their host is an address.
    func target(
        host: String?,
        project: String?,
        logstore: String
    ) throws(Refusal) -> Target {
        let candidates = try destinations(host: host, project: project)
        if let only = candidates[0].destination.onlyLogstore {
            return Target(site: candidates[0], logstore: only)
        }
        if let exact = candidates.first(where: { $0.destination.logstore == .named(logstore) }) {
            return Target(site: exact, logstore: logstore)
        }
        guard let any = candidates.first(where: { $0.destination.logstore == .any }) else {
            throw .noLogstore(
                "logstore \(clipped(logstore)) does not exist in project \(candidates[0].destination.project)"
            )
        }
        try Self.checkName(logstore)
        return Target(site: any, logstore: logstore)
    }

    /// The target of a request with a tag instead of a logstore. If the destination accepts every
    /// logstore, the tag's first term names it: `pv.home` is for `pv`. No logstore's name has a
    /// dot.
    func target(host: String?, project: String?, tag: String) throws(Refusal) -> Target {
        let candidates = try destinations(host: host, project: project)
        let site = candidates.first { $0.name == fallback.name } ?? candidates[0]
        switch site.destination.logstore {
        case .named(let logstore): return Target(site: site, logstore: logstore, tag: tag)
        case .any:
            let term = Self.firstTerm(tag)
            try Self.checkName(term)
            return Target(site: site, logstore: term, tag: tag)
        }
    }

    private func destinations(
        host: String?,
        project: String?
    ) throws(Refusal) -> [RoutedDestination] {
        if let project {
            guard let found = projects[project] else {
                throw Refusal(
                    404,
                    "ProjectNotExist",
                    "project \(clipped(project)) does not exist here"
                )
            }
            return found
        }
        return host.flatMap { projects[Self.project(ofHost: $0)] } ?? usual
    }

    /// True when the request itself says which project its logs are for.
    private func isAddressed(_ project: String?, host: String?) -> Bool {
        project != nil || host.map { projects[Self.project(ofHost: $0)] != nil } == true
    }

    private static func project(ofHost host: String) -> String {
        let end = host.utf8.firstIndex { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") }
        return host[..<(end ?? host.endIndex)].lowercased()
    }

    // MARK: - Routes

    var hasRoutes: Bool { router?.rules.routes != nil }

    var hasFilters: Bool { router?.rules.filters.isEmpty == false }

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
        target.isRouted && routedIntake == nil ? LogRules(oversize: .setAside) : target.rules
    }

    func isRequired(_ name: String) -> Bool { names[name]?.destination.isRequired ?? true }

    var routedRulesDiffer: Bool { hasRoutes && routedIntake == nil }

    /// How a request that routes decide about addressed its logs.
    func routedTarget(_ address: LogAddress) -> Target {
        switch address {
        case .logstore(let name): Target(site: fallback, logstore: name, isRouted: true)
        case .tag(let tag):
            Target(site: fallback, logstore: Self.firstTerm(tag), tag: tag, isRouted: true)
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
        var target = Target(site: site, logstore: address.logstore, tag: address.tag)
        if let only = site.destination.onlyLogstore {
            target.logstore = only
        } else if site.destination.logstore != .any {
            target.logstore = site.destination.logstore.name
        } else if address.tag != nil, case let term = Self.firstTerm(tag),
            NamePattern.logstore.problem(with: term) == nil
        {
            target.logstore = term
        } else {
            // A tag of the body, or a filter's, may be no logstore's name.
            try Self.checkName(target.logstore)
        }
        return target
    }

    private static func checkName(_ logstore: String) throws(Refusal) {
        guard let problem = NamePattern.logstore.problem(with: logstore) else { return }
        throw .noLogstore(clipped(problem, to: 160))
    }

    /// No logstore's name has a dot.
    static func firstTerm(_ tag: String) -> String {
        guard let dot = tag.utf8.firstIndex(of: UInt8(ascii: ".")) else { return tag }
        return String(tag[..<dot])
    }
}
