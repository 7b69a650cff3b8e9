import Routing

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
            orElse: "list destinations, or write to: [] to drop on purpose",
            mayBeEmpty: true
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
