import Routing

extension FilterStep {
    /// How many fields a step may name.
    static let fieldsMax = 256
}

/// An entry of `filters`.
extension Filter: SettingGroup {
    static var refusesEmpty: Bool { true }

    init() { self.init(name: "", steps: []) }

    static var settings: [Setting<Filter>] {
        Setting("name", \.name, .keyName) {
            "what messages and metrics call the filter: 1 to 64 letters, digits, `-`, `_` and `.`"
        }
        .default("`filters[0]` and so on")
        Setting.match(\.patterns)
        Setting("steps", \.steps, .list(of: StepEntry.self)) {
            "what is done with a log, in this order; 64 at most"
        } read: { section in
            var steps: [FilterStep] = []
            section.groups("steps", max: Filter.stepsMax) { item in
                if let step = StepEntry.read(item).step { steps.append(step) }
            }
            return steps
        }
        .default("required")
        Setting("on_error", \.onError, .word) {
            "for a log on which a step fails, such as `parse` on a text that is no JSON: `keep` "
            "leaves it as it was before the step, `drop` drops it, `dead_letter` keeps it aside"
        }
    }

    func check(_ section: borrowing Section) {
        section.require("steps", "list what is done with a log, as in [{ remove: [password] }]")
    }

    /// The list `filters`.
    static func readAll(_ section: inout Section) -> [Filter]? {
        section.know("filters")
        guard !section.isEmptyList("filters") else { return [] }
        var filters: [Filter] = []
        var given: Set<String> = []
        section.groups("filters", max: Filter.filtersMax) { item in
            let place = (path: item.path, name: item.place(of: "name"), report: item.report)
            var filter = read(item)
            if filter.name.isEmpty {
                filter.name = place.path
            } else if !given.insert(filter.name).inserted {
                place.report.add(place.name, key: "\(place.path).name") {
                    "\(filter.name) is in the list already; give each filter a name of its own"
                }
            }
            filters.append(filter)
        }
        return filters
    }
}

extension Setting where Group: SettingGroup {
    /// `match` of a filter or a route.
    static func match(_ path: WritableKeyPath<Group, [TagPattern]>) -> Setting {
        Setting(
            "match",
            path,
            .shaped(
                "\(Kind<TagPattern>.tagPattern.wants), or a list of them",
                .list(of: .text(), count: 1...64)
            )
        ) {
            "one pattern of tags or a list of them: terms joined by dots, `*` for one term or a "
            "part of it, `**` for any number of terms, `{a,b}` for either, as in fluentd"
        } read: {
            $0.tagPatterns("match")
        }
        .default("every tag")
    }
}

/// An entry of `routes`.
extension Route: SettingGroup {
    static var refusesEmpty: Bool { true }

    init() { self.init(to: []) }

    static var settings: [Setting<Route>] {
        Setting.match(\.patterns)
        Setting(
            "to",
            \.destinations,
            listOf: .destinationName,
            1...Route.destinationsMax,
            mayBeEmpty: true
        ) {
            "destinations that take the log, up to 16; with `[]` it is dropped on purpose, and "
            "counted"
        }
        .orElse("list destinations, or write to: [] to drop on purpose")
        Setting("last", \.isLast, .boolean) {
            "`true`: what matches is not looked at by later routes"
        }
    }

    func check(_ section: borrowing Section) {
        section.refuseUnknownDestinations("to")
        var given: Set<String> = []
        for name in destinations where !given.insert(name).inserted {
            section.problem("to", "\(name) is given twice; keep one of them")
        }
    }

    /// The list `routes`; nil where there is none, and an empty one routes nothing.
    static func readAll(_ section: inout Section) -> [Route]? {
        section.know("routes")
        guard section.has("routes") else { return nil }
        guard !section.isEmptyList("routes") else { return [] }
        var routes: [Route] = []
        section.groups("routes", max: Route.routesMax) { routes.append(read($0)) }
        return routes
    }
}
