/// A group of settings whose struct says the defaults and whose table says everything else.
protocol SettingGroup: SendableMetatype {
    /// With every default. Where a value is required, its place holds one that is never used, as
    /// the missing value is reported.
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

    /// Reads the key that tells the group's kind, and gives the kind's row of the table: its name
    /// and keys. nil: the key is missing or wrong.
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
    package let isImmediate: Bool
}

/// What a reload does with a changed setting.
enum Reload {
    case atOnce
    case atRestart
    /// At once, but told by the settings that follow from it.
    case silent
}

/// One row of a group's table: all that is known about a setting.
struct Setting<Group> {
    let description: SettingDescription
    /// Sets the value in the group; false where the file says nothing, or something wrong, which is
    /// reported.
    let read: (inout Section, inout Group) -> Bool
    let changes: (Group, Group) -> [ConfigurationChange]
    let apply: (inout Group, Group) -> Void
    let show: (Group) -> SettingValue
}

@resultBuilder
enum SettingRows<Group> {
    static func buildExpression(_ row: Setting<Group>) -> [Setting<Group>] { [row] }
    static func buildExpression(_ rows: [Setting<Group>]) -> [Setting<Group>] { rows }
    static func buildBlock(_ rows: [Setting<Group>]...) -> [Setting<Group>] { rows.flatMap(\.self) }
}

// MARK: - Rows

extension Setting where Group: SettingGroup {
    /// A single value. With `required` it must be given, except in a sandbox, which uses that
    /// value; with `orElse` it must be given, and a report says that if it is not.
    init<Value: Equatable>(
        _ key: String,
        _ path: WritableKeyPath<Group, Value>,
        _ kind: Kind<Value>,
        from override: Override = .none,
        default given: String? = nil,
        required inSandbox: Value? = nil,
        orElse remedy: String? = nil,
        reload: Reload = Group.reload,
        help: () -> String
    ) {
        self.init(
            SettingDescription(
                key: key,
                help: help(),
                wants: kind.wants,
                shape: kind.shape,
                default: given ?? kind.show(Group()[keyPath: path]).written.map { "`\($0)`" },
                override: override,
                isRequired: inSandbox != nil || remedy != nil,
                isImmediate: reload != .atRestart
            ),
            path,
            reload: reload,
            show: { kind.show($0[keyPath: path]) }
        ) { section in
            if let remedy { section.require(key, remedy) }
            guard let inSandbox else { return section.value(key, kind, override) }
            return section.required(key, override, inSandbox: inSandbox) { $0.value(key, kind, $1) }
        }
    }

    /// A single value that may be absent.
    init<Value: Equatable>(
        _ key: String,
        _ path: WritableKeyPath<Group, Value?>,
        _ kind: Kind<Value>,
        from override: Override = .none,
        default absent: String = "none",
        shownAs shown: ((Group) -> SettingValue)? = nil,
        reload: Reload = Group.reload,
        help: () -> String
    ) {
        self.init(
            SettingDescription(
                key: key,
                help: help(),
                wants: kind.wants,
                shape: kind.shape,
                default: absent,
                override: override,
                isNullable: shown == nil,
                isImmediate: reload != .atRestart
            ),
            path,
            reload: reload,
            show: shown ?? { $0[keyPath: path].map(kind.show) ?? .absent }
        ) { $0.value(key, kind, override).map(Optional.some) }
    }

    /// A list. `value` makes the group's value of the items, `items` the other way for documents.
    init<Item, Value: Equatable>(
        _ key: String,
        _ path: WritableKeyPath<Group, Value>,
        listOf kind: Kind<Item>,
        _ counts: ClosedRange<Int>,
        from override: Override = .none,
        default given: String = "none",
        required inSandbox: [Item]? = nil,
        orElse remedy: String? = nil,
        mayBeEmpty: Bool = false,
        reload: Reload = Group.reload,
        as value: @escaping ([Item]) -> Value,
        shownAs items: @escaping (Value) -> [Item] = { _ in [] },
        help: () -> String
    ) {
        self.init(
            SettingDescription(
                key: key,
                help: help(),
                wants: "\(kind.wants), or a list of them",
                shape: .list(of: kind.shape, count: counts),
                default: given,
                override: override,
                isRequired: inSandbox != nil || remedy != nil,
                isImmediate: reload != .atRestart
            ),
            path,
            reload: reload,
            show: { .list(items($0[keyPath: path]).map(kind.show)) }
        ) { section in
            if let remedy { section.require(key, remedy) }
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
        from override: Override = .none,
        default given: String = "none",
        required inSandbox: [Item]? = nil,
        orElse remedy: String? = nil,
        mayBeEmpty: Bool = false,
        reload: Reload = Group.reload,
        help: () -> String
    ) {
        self.init(
            key,
            path,
            listOf: kind,
            counts,
            from: override,
            default: given,
            required: inSandbox,
            orElse: remedy,
            mayBeEmpty: mayBeEmpty,
            reload: reload,
            as: \.self,
            shownAs: \.self,
            help: help
        )
    }

    /// A value with a reader of its own.
    init<Value: Equatable>(
        _ description: SettingDescription,
        _ path: WritableKeyPath<Group, Value>,
        reload: Reload = Group.reload,
        show: @escaping (Group) -> SettingValue = { _ in .hidden },
        _ read: @escaping (inout Section) -> Value?
    ) {
        self.description = description
        self.read = { section, group in
            guard let value = read(&section) else { return false }
            group[keyPath: path] = value
            return true
        }
        changes = { old, new in
            guard reload != .silent, old[keyPath: path] != new[keyPath: path] else { return [] }
            return [ConfigurationChange(key: description.key, isImmediate: reload == .atOnce)]
        }
        apply = { running, new in
            if reload != .atRestart { running[keyPath: path] = new[keyPath: path] }
        }
        self.show = show
    }

    /// A group within the group.
    init<Inner: SettingGroup>(group key: String, _ path: WritableKeyPath<Group, Inner>) {
        description = SettingDescription(key: key, members: { Inner.descriptions })
        read = { section, group in
            group[keyPath: path] = Inner.read(section.section(key), over: group[keyPath: path])
            return true
        }
        changes = { $0[keyPath: path].changes(to: $1[keyPath: path], at: key + ".") }
        apply = { $0[keyPath: path].apply($1[keyPath: path]) }
        show = { .present($0[keyPath: path].shown) }
    }

    /// A row whose reader does all; for groups that become another value once they are read.
    init(_ description: SettingDescription, _ read: @escaping (inout Section, inout Group) -> Bool)
    {
        self.description = description
        self.read = read
        changes = { _, _ in [] }
        apply = { _, _ in }
        show = { _ in .hidden }
    }
}

extension Setting {
    /// The row in a table of a group that holds this one, and has its keys among its own.
    func lifted<Outer>(_ path: WritableKeyPath<Outer, Group>) -> Setting<Outer> {
        Setting<Outer>(
            description: description,
            read: { read(&$0, &$1[keyPath: path]) },
            changes: { changes($0[keyPath: path], $1[keyPath: path]) },
            apply: { apply(&$0[keyPath: path], $1[keyPath: path]) },
            show: { show($0[keyPath: path]) }
        )
    }

    /// A reload applies it at once only where this holds for the running group and the new one.
    func appliedOnly(where condition: @escaping (Group, Group) -> Bool) -> Setting {
        Setting(
            description: description,
            read: read,
            changes: { old, new in
                changes(old, new).map {
                    let isImmediate = $0.isImmediate && condition(old, new)
                    return ConfigurationChange(key: $0.key, isImmediate: isImmediate)
                }
            },
            apply: { running, new in if condition(running, new) { apply(&running, new) } },
            show: show
        )
    }
}
