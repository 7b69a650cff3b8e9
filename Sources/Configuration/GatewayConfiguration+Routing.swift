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
        Setting(
            SettingDescription(
                key: "filters",
                help: "what is done with logs before they are stored, in this order; 256 at most",
                members: { Filter.descriptions },
                isList: true
            ),
            \.routing.filters,
            Filter.readAll
        )
        Setting(
            "filters_secret",
            \.routing.secret,
            .secret(bytesMin: RoutingRules.secretBytesMin),
            from: RoutingRules.secretSource
        ) {
            """
            the key of `redact` with `hash`: 16 visible ASCII characters or more, best from \
            `openssl rand -hex 32`, and the same on every gateway
            """
        }
        Setting(
            "filters_headers",
            \.routing.headers,
            listOf: .headerName,
            1...RequestPart.headersMax,
            default: "none",
            mayBeEmpty: true
        ) {
            "header fields of requests that conditions of filters may ask: `[x-app, user-agent]`, up to 32"
        }
        Setting(
            SettingDescription(
                key: "routes",
                help: """
                    destinations of logs by their tags; each route that matches takes the log. Without \
                    the list each request goes where its address says; with `[]` nothing is routed. 1,024 \
                    at most
                    """,
                members: { Route.descriptions },
                isList: true
            ),
            \.routing.routes
        ) { Route.readAll(&$0).map(Optional.some) }
        Setting(
            "unrouted",
            \.routing.unrouted,
            .choice(["default": .defaultDestination, "drop": .drop, "dead_letter": .deadLetter])
        ) {
            """
            with `routes`: what becomes of a log that no route takes: `default` is the default \
            destination, `drop` drops and counts it, `dead_letter` keeps it aside
            """
        }
    }
}

extension GatewayConfiguration {
    /// Reports limits of filters and routes together. They can be judged when nothing in the two
    /// lists is wrong.
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

    /// This configuration with the `filters`, `routes` and `unrouted` of a JSON object, for a
    /// trial. `${…}` is not expanded, because the caller of a trial may not read files.
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
