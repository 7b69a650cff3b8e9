/// A group of settings whose struct says the defaults and whose table says everything else.
protocol SettingGroup: SendableMetatype {
    /// The defaults. A required value has a placeholder here, as a missing value is reported.
    init()
    @SettingRows<Self> static var settings: [Setting<Self>] { get }
    /// What a reload does with those settings whose row says nothing of it.
    static var reload: Reload { get }
    /// A key without a value is a mistake. Elsewhere it is as good as no key.
    static var refusesEmpty: Bool { get }
    /// Reports what does not go together, after all of it was read.
    func check(_ section: borrowing Section)
}

extension SettingGroup {
    static var reload: Reload { .atOnce }
    static var refusesEmpty: Bool { false }

    func check(_ section: borrowing Section) {}

    /// Reads the group over the defaults, or over `start`.
    static func read(_ section: consuming Section, over start: Self = Self()) -> Self {
        var group = start
        group.readSettings(&section)
        if refusesEmpty { section.refuseEmpty() }
        group.check(section)
        section.refuseOthers()
        return group
    }

    /// Reads the rows of the table, or some of them. Returns the keys that are given and right.
    @discardableResult
    mutating func readSettings(_ section: inout Section, only keys: [String]? = nil) -> Set<String>
    {
        var given: Set<String> = []
        for setting in Self.settings where keys?.contains(setting.description.key) ?? true {
            if setting.read(&section, &self) { given.insert(setting.description.key) }
        }
        return given
    }

    /// Reads the key of the group's kind and returns the kind's keys; nil: it is missing or wrong.
    mutating func readKind(
        _ key: String,
        _ path: KeyPath<Self, String>,
        of kinds: KeyValuePairs<String, [String]>,
        _ section: inout Section
    ) -> (key: String, value: [String])? {
        readSettings(&section, only: [key])
        return kinds.first { $0.key == self[keyPath: path] }
    }

    func changes(to new: Self, at path: String = "") -> [ConfigurationChange] {
        Self.settings.flatMap { $0.changes(self, new) }.map {
            ConfigurationChange(key: path + $0.key, isImmediate: $0.isImmediate)
        }
    }

    /// Takes over what a reload applies at once.
    mutating func apply(_ new: Self) {
        for setting in Self.settings { setting.apply(&self, new) }
    }

    var shown: [(key: String, value: SettingValue)] {
        Self.settings.map { ($0.description.key, $0.show(self)) }
    }

    static var descriptions: [SettingDescription] { settings.map(\.description) }
}

/// A setting that differs between two configurations.
package struct ConfigurationChange: Equatable, Sendable {
    package let key: String
    /// It takes effect without a restart.
    package var isImmediate = true
}

/// What a reload does with a changed setting.
enum Reload {
    case atOnce
    case atRestart
    /// At once, but told by the settings that follow from it.
    case silent
}

/// One row of a group's table: all that is known about a setting.
///
///     Setting("timeout", \.timeout, .duration(.seconds(1) ... .seconds(60))) {
///         "for one attempt"
///     }
///     .default("`10s`").reload(.atRestart)
struct Setting<Group> {
    private(set) var description: SettingDescription
    private var reload: Reload
    /// Says how to give a value that must be given.
    private var remedy: String?
    private let readValue: (inout Section, inout Group, Override) -> Bool
    private let difference: (Group, Group, Reload) -> [ConfigurationChange]
    private let copy: (inout Group, Group, Reload) -> Void
    let show: (Group) -> SettingValue

    /// Sets the value in the group; false: it is absent, or wrong and reported.
    func read(_ section: inout Section, _ group: inout Group) -> Bool {
        if let remedy { section.require(description.key, remedy) }
        return readValue(&section, &group, description.override)
    }

    func changes(_ old: Group, _ new: Group) -> [ConfigurationChange] {
        difference(old, new, reload)
    }

    func apply(_ running: inout Group, _ new: Group) { copy(&running, new, reload) }

    // MARK: - Modifiers

    /// The default as documents name it: Markdown, a value in backticks.
    func `default`(_ text: String) -> Setting {
        with {
            $0.description.default = text
            $0.description.defaultValue = nil
        }
    }

    /// An option or a variable that beats the file.
    func from(_ override: Override) -> Setting { with { $0.description.override = override } }

    func reload(_ reload: Reload) -> Setting {
        with {
            $0.reload = reload
            $0.description.isImmediate = reload != .atRestart
        }
    }

    /// The value must be given, and a report says that if it is not.
    func orElse(_ remedy: String) -> Setting {
        with {
            $0.remedy = remedy
            $0.description.isRequired = true
        }
    }

    private func with(_ change: (inout Setting) -> Void) -> Setting {
        var setting = self
        change(&setting)
        return setting
    }

    /// The row in a table of a group that holds this one, and has its keys among its own.
    func lifted<Outer>(_ path: WritableKeyPath<Outer, Group>) -> Setting<Outer> {
        Setting<Outer>(
            description: description,
            reload: reload,
            remedy: remedy,
            readValue: { readValue(&$0, &$1[keyPath: path], $2) },
            difference: { difference($0[keyPath: path], $1[keyPath: path], $2) },
            copy: { copy(&$0[keyPath: path], $1[keyPath: path], $2) },
            show: { show($0[keyPath: path]) }
        )
    }

    /// A reload applies it at once only where this holds for the running group and the new one.
    func appliedOnly(where condition: @escaping (Group, Group) -> Bool) -> Setting {
        Setting(
            description: description,
            reload: reload,
            remedy: remedy,
            readValue: readValue,
            difference: { old, new, reload in
                difference(old, new, reload).map {
                    let isImmediate = $0.isImmediate && condition(old, new)
                    return ConfigurationChange(key: $0.key, isImmediate: isImmediate)
                }
            },
            copy: { if condition($0, $1) { copy(&$0, $1, $2) } },
            show: show
        )
    }
}

@resultBuilder
enum SettingRows<Group> {
    static func buildExpression(_ row: Setting<Group>) -> [Setting<Group>] { [row] }
    static func buildExpression(_ rows: [Setting<Group>]) -> [Setting<Group>] { rows }
    static func buildBlock(_ rows: [Setting<Group>]...) -> [Setting<Group>] { rows.flatMap(\.self) }
}

// MARK: - Rows

extension Setting where Group: SettingGroup {
    /// A single value, which must be given with `required`; a sandbox then uses that value.
    init<Value: Equatable>(
        _ key: String,
        _ path: WritableKeyPath<Group, Value>,
        _ kind: Kind<Value>,
        required inSandbox: Value? = nil,
        @TextParts help: () -> String
    ) {
        var form = SettingDescription.shaped(kind.wants, kind.shape)
        form.defaultValue = kind.show(Group()[keyPath: path])
        form.default = form.defaultValue?.written.map { "`\($0)`" }
        form.isRequired = inSandbox != nil
        self.init(key, path, form, help: help(), show: { kind.show($0[keyPath: path]) }) {
            section,
            override in
            guard let inSandbox else { return section.value(key, kind, override) }
            return section.required(key, override, inSandbox: inSandbox) { $0.value(key, kind, $1) }
        }
    }

    /// A single value that may be absent.
    init<Value: Equatable>(
        _ key: String,
        _ path: WritableKeyPath<Group, Value?>,
        _ kind: Kind<Value>,
        shownAs shown: ((Group) -> SettingValue)? = nil,
        @TextParts help: () -> String
    ) {
        var form = SettingDescription.shaped(kind.wants, kind.shape)
        form.isNullable = shown == nil
        let show = shown ?? { $0[keyPath: path].map(kind.show) ?? .absent }
        self.init(key, path, form, help: help(), show: show) {
            $0.value(key, kind, $1).map(Optional.some)
        }
    }

    /// A list. `value` makes the group's value of the items, `items` the other way for documents.
    init<Item, Value: Equatable>(
        _ key: String,
        _ path: WritableKeyPath<Group, Value>,
        listOf kind: Kind<Item>,
        _ counts: ClosedRange<Int>,
        required inSandbox: [Item]? = nil,
        mayBeEmpty: Bool = false,
        as value: @escaping ([Item]) -> Value,
        shownAs items: @escaping (Value) -> [Item] = { _ in [] },
        @TextParts help: () -> String
    ) {
        let least = mayBeEmpty ? 0 : counts.lowerBound
        let shape = SettingShape.list(of: kind.shape, count: least...counts.upperBound)
        var form = SettingDescription.shaped("\(kind.wants), or a list of them", shape)
        form.isRequired = inSandbox != nil
        let show = { (group: Group) in
            SettingValue.list(items(group[keyPath: path]).map(kind.show))
        }
        self.init(key, path, form, help: help(), show: show) { section, override in
            if mayBeEmpty, section.isEmptyList(key) {
                section.know(key)
                return nil
            }
            guard let inSandbox else {
                return section.list(key, kind, counts: counts, override).map(value)
            }
            return section.required(key, override, inSandbox: inSandbox) {
                $0.list(key, kind, counts: counts, $1)
            }.map(value)
        }
    }

    /// A list as the group has it.
    init<Item: Equatable>(
        _ key: String,
        _ path: WritableKeyPath<Group, [Item]>,
        listOf kind: Kind<Item>,
        _ counts: ClosedRange<Int>,
        required inSandbox: [Item]? = nil,
        mayBeEmpty: Bool = false,
        @TextParts help: () -> String
    ) {
        self.init(
            key,
            path,
            listOf: kind,
            counts,
            required: inSandbox,
            mayBeEmpty: mayBeEmpty,
            as: \.self,
            shownAs: \.self,
            help: help
        )
    }

    /// A value with a reader of its own.
    init<Value: Equatable>(
        _ key: String,
        _ path: WritableKeyPath<Group, Value>,
        _ form: SettingDescription,
        show: @escaping (Group) -> SettingValue = { _ in .hidden },
        @TextParts help: () -> String,
        read: @escaping (inout Section) -> Value?
    ) {
        self.init(key, path, form, help: help(), show: show) { section, _ in read(&section) }
    }

    private init<Value: Equatable>(
        _ key: String,
        _ path: WritableKeyPath<Group, Value>,
        _ form: SettingDescription,
        help: String,
        show: @escaping (Group) -> SettingValue,
        read: @escaping (inout Section, Override) -> Value?
    ) {
        self.init(
            description: form.named(key, help),
            reload: .atOnce,
            readValue: { section, group, override in
                guard let value = read(&section, override) else { return false }
                group[keyPath: path] = value
                return true
            },
            difference: { old, new, reload in
                guard reload != .silent, old[keyPath: path] != new[keyPath: path] else { return [] }
                return [ConfigurationChange(key: key, isImmediate: reload == .atOnce)]
            },
            copy: { if $2 != .atRestart { $0[keyPath: path] = $1[keyPath: path] } },
            show: show
        )
        self = reload(Group.reload)
    }

    /// A group within the group.
    init<Inner: SettingGroup>(group key: String, _ path: WritableKeyPath<Group, Inner>) {
        self.init(
            description: .group(of: Inner.self).named(key, ""),
            reload: .atOnce,
            readValue: { section, group, _ in
                group[keyPath: path] = Inner.read(section.section(key), over: group[keyPath: path])
                return true
            },
            difference: { old, new, _ in
                old[keyPath: path].changes(to: new[keyPath: path], at: key + ".")
            },
            copy: { running, new, _ in running[keyPath: path].apply(new[keyPath: path]) },
            show: { .present($0[keyPath: path].shown) }
        )
    }

    /// A row whose reader does all, with its own way to tell and to apply changes.
    init(
        _ key: String,
        _ form: SettingDescription,
        show: @escaping (Group) -> SettingValue = { _ in .hidden },
        @TextParts help: () -> String,
        read: @escaping (inout Section, inout Group) -> Bool,
        changes: @escaping (Group, Group) -> [ConfigurationChange] = { _, _ in [] },
        apply: @escaping (inout Group, Group) -> Void = { _, _ in }
    ) {
        self.init(
            description: form.named(key, help()),
            reload: .atOnce,
            readValue: { section, group, _ in read(&section, &group) },
            difference: { old, new, _ in changes(old, new) },
            copy: { running, new, _ in apply(&running, new) },
            show: show
        )
    }
}
