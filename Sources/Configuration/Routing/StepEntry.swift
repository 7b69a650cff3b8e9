import Routing

/// An entry of `filters.steps`: an action under its name, and perhaps a condition.
struct StepEntry: SettingGroup {
    /// Made once: a file may have thousands of steps.
    private static let actions = settings.map(\.description.key).filter { $0 != "when" }

    private var action: FilterStep.Action?
    private var condition: Condition?

    /// Nil when it is wrong, which is reported.
    var step: FilterStep? { action.map { FilterStep($0, when: condition) } }

    static var settings: [Setting<StepEntry>] {
        fieldActions
        group("redact", Redaction.self)
        group("parse", ParsingEntry.self)
        group("truncate", Truncation.self)
        group("sample", Sampling.self)
        row("drop", .boolean, { _ in .drop }) { "`true`: the log ends here, and is counted" }
        row("tag", .tagTemplate, FilterStep.Action.tag) {
            "the tag of the log from here on: `page.{{captured}}`"
        }
        group("split", Splitting.self)
        group("time", TimeEntry.self)
        row("topic", .template, FilterStep.Action.topic) {
            "the topic of the log in place of its device's: `{{field:screen}}`; the logs of a "
            "request may have 1024 different topics and sources, and beyond that the step fails"
        }
        row("source", .template, FilterStep.Action.source) { "the source of the log, likewise" }
        Setting("when", \.condition, .group(of: ConditionEntry.self)) {
            "the step is for logs for which this holds"
        } read: { section in
            section.know("when")
            guard section.has("when") else { return nil }
            return ConditionEntry.read(section.section("when")).condition.map(Optional.some)
        }
    }

    @SettingRows<StepEntry> private static var fieldActions: [Setting<StepEntry>] {
        action("add", .texts("values under names of fields")) {
            #"fields that the log has not yet: `{ app: shop, page: "{{captured}}" }`. A value may "#
            "have `{{tag}}`, `{{captured}}` (what the last wildcard of `match` took), "
            "`{{field:NAME}}`, `{{client_ip}}`, `{{key}}` (the device key's name) and `{{receipt}}`"
        } read: {
            $0.fields("add", named: .newFieldName, .template).map { .add($0.map(Assignment.init)) }
        }
        action("set", .texts("values under names of fields")) {
            "as `add`, also in place of fields that the log has"
        } read: {
            $0.fields("set", named: .newFieldName, .template).map { .set($0.map(Assignment.init)) }
        }
        action("rename", .texts("new names under names of fields")) {
            "new names under the present ones: `{ uid: user_id }`"
        } read: { section in
            let names = section.fields("rename", named: .fieldName, .newFieldName)
            return names.map { .rename($0.map { Renaming(from: $0.name, to: $0.value) }) }
        }
        list("remove", FilterStep.Action.remove) { "fields that go: `[password, \"debug_*\"]`" }
        list("keep", FilterStep.Action.keep) { "fields that stay; all others go" }
    }

    func check(_ section: borrowing Section) {
        guard !section.report.hasProblem(with: section.path) else { return }
        section.refuseEmpty()
        let actions = Self.actions
        let given = section.names.filter(actions.contains)
        if let second = given.dropFirst().first {
            section.problem(second) {
                "a step has one action, and this one has \(given.joined(separator: " and ")); make a "
                "step of each"
            }
        }
        // A key that is not known may have been meant.
        if given.isEmpty, section.names.allSatisfy({ $0 == "when" }) {
            section.report.add(section.ownPlace, key: section.path) {
                "has no action; give one of \(actions.joined(separator: ", "))"
            }
        }
        if case .drop = action, section.readable("drop", .boolean) == false {
            section.problem("drop", "does nothing when false; write true, or take the step away")
        }
    }

    // MARK: - Rows

    private static func row<Value>(
        _ key: String,
        _ kind: Kind<Value>,
        _ make: @escaping (Value) -> FilterStep.Action,
        @TextParts help: () -> String
    ) -> Setting<StepEntry> {
        action(key, .shaped(kind.wants, kind.shape), help: help) { $0.value(key, kind).map(make) }
    }

    private static func list(
        _ key: String,
        _ make: @escaping ([FieldPattern]) -> FilterStep.Action,
        help: () -> String
    ) -> Setting<StepEntry> {
        let counts = 1...FilterStep.fieldsMax
        let wants = "\(Kind<FieldPattern>.fieldPattern.wants), or a list of them"
        return action(key, .shaped(wants, .list(of: .text(), count: counts)), help: help) {
            $0.list(key, .fieldPattern, counts: counts).map(make)
        }
    }

    private static func group<Group: StepGroup>(
        _ key: String,
        _ group: Group.Type
    ) -> Setting<StepEntry> {
        action(key, .group(of: group), help: { "" }) { group.read($0.section(key)).action }
    }

    private static func action(
        _ key: String,
        _ form: SettingDescription,
        @TextParts help: () -> String,
        read: @escaping (inout Section) -> FilterStep.Action?
    ) -> Setting<StepEntry> {
        Setting(key, form, help: help) { section, entry in
            section.know(key)
            guard section.has(key), let action = read(&section) else { return false }
            entry.action = action
            return true
        }
    }
}
