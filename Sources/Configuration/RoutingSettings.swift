import Crypto
import Routing

extension RoutingRules {
    static let secretVariable = "SLUICE_FILTERS_SECRET"
    static let secretBytesMin = 16
    static let secretSource = Override(variable: secretVariable)
}

extension GatewayConfiguration {
    /// Filters and routes, and what goes with them.
    @SettingRows<GatewayConfiguration> static var routingSettings: [Setting<GatewayConfiguration>] {
        Setting("filters", \.routing.filters, .list(of: Filter.self)) {
            "what is done with logs before they are stored, in this order; 256 at most"
        } read: {
            Filter.readAll(&$0)
        }
        Setting("filters_secret", \.routing.secret, .secret(bytesMin: RoutingRules.secretBytesMin))
        {
            "the key of `redact` with `hash`: 16 visible ASCII characters or more, best from "
            "`openssl rand -hex 32`, and the same on every gateway"
        }
        .from(RoutingRules.secretSource)
        Setting(
            "filters_headers",
            \.routing.headers,
            listOf: .headerName,
            1...RequestPart.headersMax,
            mayBeEmpty: true
        ) {
            "header fields of requests that conditions of filters may ask: `[x-app, user-agent]`, up to 32"
        }
        Setting("routes", \.routing.routes, .list(of: Route.self)) {
            "destinations of logs by their tags; each route that matches takes the log. Without "
            "the list each request goes where its address says; with `[]` nothing is routed. 1,024 "
            "at most"
        } read: {
            Route.readAll(&$0).map(Optional.some)
        }
        Setting("unrouted", \.routing.unrouted, .word) {
            "with `routes`: what becomes of a log that no route takes: `default` is the default "
            "destination, `drop` drops and counts it, `dead_letter` keeps it aside"
        }
    }
}

extension GatewayConfiguration {
    /// Checks filters and routes together, if each is right alone.
    func checkRouting(_ file: borrowing Section) {
        let report = file.report
        let isWrong = report.problems.contains {
            $0.key.hasPrefix("filters[") || $0.key.hasPrefix("routes[")
                || ["filters", "routes"].contains($0.key)
        }
        guard !isWrong, !routing.isEmpty else { return }
        do throws(RoutingProblem) {
            _ = try Router(routing)
        } catch {
            switch error.place {
            case .filter(let index, _):
                report.add(file.place(of: "filters"), key: "filters[\(index)]", error.reason)
            case .route(let index):
                report.add(file.place(of: "routes"), key: "routes[\(index)]", error.reason)
            case .all: file.problem(file.has("routes") ? "routes" : "filters", error.reason)
            }
        }
    }
}

extension RoutingRules {
    /// For `sluice check`: "2 filters, 3 routes, else the default destination".
    var summary: String {
        func count(_ number: Int, _ noun: String) -> String {
            "\(number) \(noun)\(number == 1 ? "" : "s")"
        }
        guard let routes else { return count(filters.count, "filter") }
        let rest =
            switch unrouted {
            case .defaultDestination: "else the default destination"
            case .drop: "else dropped"
            case .deadLetter: "else a dead letter"
            }
        return "\(count(filters.count, "filter")), \(count(routes.count, "route")), \(rest)"
    }
}

// MARK: - Trials

extension GatewayConfiguration {
    private static let trialDepthMax = 16

    /// This configuration with other filters and routes, for a trial. `${…}` is not expanded: the
    /// caller may not read files.
    package func withRouting(json: [UInt8]) throws(ConfigurationProblems) -> GatewayConfiguration {
        let report = ProblemReport(ConfigurationInputs())
        report.destinationNames = Set(destinations.map(\.name))
        report.filtersHaveSecret = routing.secret != nil
        report.filtersHeaders = routing.headers
        let node: YAMLNode
        do throws(YAMLError) {
            node = try YAMLNode(json: json, depthMax: Self.trialDepthMax)
        } catch {
            report.add(.decided, error.reason)
            throw report.sorted
        }
        var section = Section(node, path: "", report: report)
        var configuration = self
        let fixed = ["filters_secret", "filters_headers"]
        for setting in Self.routingSettings where !fixed.contains(setting.description.key) {
            _ = setting.read(&section, &configuration)
        }
        configuration.checkRouting(section)
        section.refuseOthers()
        guard report.problems.isEmpty else { throw report.sorted }
        return configuration
    }
}

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
                    // A changed tag was another one at the earlier filter.
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
    /// True if it is `**`, the same pattern, or `a.b.**` and the other begins with `a.b`: it
    /// matches every tag that the other matches. Other cases are not examined.
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
