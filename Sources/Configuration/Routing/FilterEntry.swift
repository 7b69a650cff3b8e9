import Routing

/// An entry of `filters` as the file has it.
struct FilterEntry: SettingGroup {
    /// How many fields a step may name.
    static let fieldsMax = 256

    private var name: String?
    private var patterns: [TagPattern] = []
    private var steps: [FilterStep] = []
    private var onError = Filter.OnError.keep

    init() {}

    static var settings: [Setting<FilterEntry>] {
        Setting("name", \.name, .keyName, default: "`filters[0]` and so on") {
            "what messages and metrics call the filter: 1 to 64 letters, digits, `-`, `_` and `.`"
        }
        Setting.match(\.patterns)
        Setting(
            SettingDescription(
                key: "steps",
                help: "what is done with a log, in this order; 64 at most",
                default: "required",
                members: StepEntry.descriptions,
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
        section.refuseEmpty()
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
            let entry = read(item)
            if let name = entry.name, !given.insert(name).inserted {
                place.report.add(
                    place.name,
                    key: "\(place.path).name",
                    "\(name) is in the list already; give each filter a name of its own"
                )
            }
            var filter = Filter(
                name: entry.name ?? place.path,
                patterns: entry.patterns,
                steps: entry.steps
            )
            filter.onError = entry.onError
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
