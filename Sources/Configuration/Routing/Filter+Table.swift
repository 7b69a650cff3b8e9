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
        Setting("name", \.name, .keyName, default: "`filters[0]` and so on") {
            "what messages and metrics call the filter: 1 to 64 letters, digits, `-`, `_` and `.`"
        }
        Setting.match(\.patterns)
        Setting(
            SettingDescription(
                key: "steps",
                help: "what is done with a log, in this order; 64 at most",
                default: "required",
                members: { StepEntry.descriptions },
                isList: true
            ),
            \.steps
        ) { section in
            var steps: [FilterStep] = []
            section.groups("steps", max: Filter.stepsMax) { item in
                if let step = StepEntry.read(item).step { steps.append(step) }
            }
            return steps
        }
        Setting(
            "on_error",
            \.onError,
            .choice(["keep": .keep, "drop": .drop, "dead_letter": .deadLetter])
        ) {
            """
            for a log on which a step fails, such as `parse` on a text that is no JSON: `keep` leaves it \
            as it was before the step, `drop` drops it, `dead_letter` keeps it aside
            """
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
                place.report.add(
                    place.name,
                    key: "\(place.path).name",
                    "\(filter.name) is in the list already; give each filter a name of its own"
                )
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
            SettingDescription(
                key: "match",
                help: """
                    one pattern of tags or a list of them: terms joined by dots, `*` for one term or a \
                    part of it, `**` for any number of terms, `{a,b}` for either, as in fluentd
                    """,
                wants: "\(Kind<TagPattern>.tagPattern.wants), or a list of them",
                shape: .list(of: .text(), count: 1...64),
                default: "every tag"
            ),
            path
        ) { $0.tagPatterns("match") }
    }
}
