/// A setting for documents: all of its row but the code.
package struct SettingDescription: Sendable {
    package private(set) var key = ""
    /// One sentence in Markdown.
    package private(set) var help = ""
    /// "a size such as 64MiB"
    package private(set) var wants = "a group of settings"
    private(set) var shape = SettingShape.text()
    var `default`: String?
    /// The default, unless words say it.
    var defaultValue: SettingValue?
    var override = Override.none
    var isRequired = false
    /// Absent, JSON shows null.
    var isNullable = false
    /// A reload applies it without a restart.
    package var isImmediate = true
    /// The settings of a group, made only for documents: a file may have thousands of groups.
    private(set) var members: (@Sendable () -> [SettingDescription])?
    /// A list of such groups.
    private(set) var isList = false
    /// Such groups under names of the operator's choice.
    private(set) var isMap = false

    /// A value that looks like this.
    static func shaped(_ wants: String, _ shape: SettingShape) -> SettingDescription {
        SettingDescription(wants: wants, shape: shape)
    }

    /// Texts under names of the operator's choice.
    static func texts(_ wants: String = "texts under names") -> SettingDescription {
        shaped(wants, .named(.text()))
    }

    static func group(of group: (some SettingGroup).Type) -> SettingDescription {
        SettingDescription(members: { group.descriptions })
    }

    static func list(of group: (some SettingGroup).Type) -> SettingDescription {
        list { group.descriptions }
    }

    static func list(
        _ members: @escaping @Sendable () -> [SettingDescription]
    ) -> SettingDescription {
        SettingDescription(members: members, isList: true)
    }

    static func map(of group: (some SettingGroup).Type) -> SettingDescription {
        SettingDescription(members: { group.descriptions }, isMap: true)
    }

    func named(_ key: String, _ help: String) -> SettingDescription {
        var named = self
        (named.key, named.help) = (key, help)
        return named
    }
}

extension SettingDescription {
    /// In Markdown: a value in backticks, or a phrase.
    package var defaultText: String { isRequired ? "required" : `default` ?? "none" }

    /// The help as plain text, for terminals and schemas.
    package var plainHelp: String { plainText(help) }

    /// "1MiB to 1TiB"; nil where the kind says it all.
    package var bounds: String? { shape.bounds }

    package var plainDefault: String { plainText(defaultText) }

    /// The only words that it may be; nil if it may be others.
    package var choices: [String]? { if case .choice(let words) = shape { words } else { nil } }

    /// "--listen, SLUICE_LISTEN"; empty where the file alone has it.
    package var sources: [String] { [override.option, override.variable].compactMap(\.self) }

    /// The settings with their paths. A group with a sentence of its own has a table of its own.
    package var leaves: [(path: String, setting: SettingDescription)] {
        guard let members = members?(), !isList, !isMap else { return [(key, self)] }
        guard help.isEmpty else { return [] }
        return members.flatMap(\.leaves).map { ("\(key).\($0.path)", $0.setting) }
    }

    // MARK: - Schemas

    /// For the configuration file. Nothing is required there, since the environment may give it.
    var fileSchema: JSONSchema {
        let schema: JSONSchema
        if let members = members?() {
            let group = JSONSchema.file(members)
            schema =
                isList ? .array(of: group, count: 0...Int.max) : isMap ? .map(of: group) : group
        } else {
            // A value such as ${NAME} has any form once it is replaced.
            schema = shape.written.or(.pattern("\\$\\{"))
        }
        // A group may have no sentence.
        let keys = members?().map(\.key).joined(separator: ", ")
        let text = help.isEmpty ? "settings: \(keys ?? "")" : plainHelp
        return .described(text, default: defaultValue, schema.orNull)
    }

    /// For a change at run time; null gives the setting back to the file.
    var patchSchema: JSONSchema {
        let group = members.map { JSONSchema.object($0().map { ($0.key, $0.patchSchema, false) }) }
        return (group ?? shape.written).orNull
    }

    /// For the admin JSON.
    var shownSchema: JSONSchema {
        if let members = members?() {
            return .object(members.map { ($0.key, $0.shape.shown, !$0.isNullable) })
        }
        return isNullable ? shape.shown.orNull : shape.shown
    }
}

extension JSONSchema {
    /// A group of the configuration file.
    static func file(_ members: [SettingDescription]) -> JSONSchema {
        .object(members.map { ($0.key, $0.fileSchema, false) })
    }
}

/// Markdown without backticks and links.
private func plainText(_ markdown: String) -> String {
    var text = ""
    var rest = markdown[...]
    while let middle = rest.firstRange(of: "]("),
        let start = rest[..<middle.lowerBound].lastIndex(of: "["),
        let end = rest[middle.upperBound...].firstIndex(of: ")")
    {
        text += rest[..<start] + rest[rest.index(after: start)..<middle.lowerBound]
        rest = rest[rest.index(after: end)...]
    }
    return (text + rest).filter { $0 != "`" }
}
