import Routing

/// An entry of `routes` as the file has it.
struct RouteEntry: SettingGroup {
    private var patterns: [TagPattern] = []
    private var destinations: [String] = []
    private var isLast = false

    init() {}

    static var settings: [Setting<RouteEntry>] {
        Setting.match(\.patterns)
        Setting(
            "to",
            \.destinations,
            listOf: .destinationName,
            1...Route.destinationsMax,
            default: "required",
            mayBeEmpty: true,
            as: { $0 }
        ) {
            """
            destinations that take the log, up to 16; with `[]` it is dropped on purpose, and counted
            """
        }
        Setting("last", \.isLast, .boolean) {
            "`true`: what matches is not looked at by later routes"
        }
    }

    func check(_ section: borrowing Section) {
        section.refuseEmpty()
        section.require("to", "list destinations, or write to: [] to drop on purpose")
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
        section.groups("routes", max: Route.routesMax) { item in
            let entry = read(item)
            routes.append(
                Route(patterns: entry.patterns, to: entry.destinations, isLast: entry.isLast)
            )
        }
        return routes
    }
}
