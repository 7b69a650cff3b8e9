/// A setting for documents: all of its row but the code.
package struct SettingDescription: Sendable {
    package let key: String
    /// One sentence in Markdown.
    package private(set) var help = ""
    /// "a size such as 64MiB"
    package private(set) var wants = "a group of settings"
    private(set) var shape = SettingShape.text()
    private(set) var `default`: String?
    private(set) var override = Override.none
    private(set) var isRequired = false
    /// Absent, JSON shows null.
    private(set) var isNullable = false
    /// A reload applies it without a restart.
    package private(set) var isImmediate = true
    /// The settings of a group, made only for documents: a file may have thousands of groups.
    private(set) var members: (@Sendable () -> [SettingDescription])?
    /// A list of such groups.
    private(set) var isList = false
    /// Such groups under names of the operator's choice.
    private(set) var isMap = false
}

extension SettingDescription {
    /// In Markdown: a value in backticks, or a phrase.
    package var defaultText: String { isRequired ? "required" : `default` ?? "none" }

    /// The help as plain text, for terminals and schemas.
    package var plainHelp: String { plainText(help) }

    /// "1MiB to 1TiB"; nil where the kind says it all.
    package var bounds: String? { shape.bounds }

    package var plainDefault: String { plainText(defaultText) }

    /// "--listen, SLUICE_LISTEN"; empty where the file alone has it.
    package var sources: [String] { [override.option, override.variable].compactMap(\.self) }

    /// The settings in it, with their paths: a group within a table is shown with it, while one
    /// that has a sentence of its own has a table of its own.
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
        return .described(plainHelp, schema.orNull)
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
