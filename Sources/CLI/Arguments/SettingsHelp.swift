import Configuration
import System

/// `sluice help settings`: the tables of settings, as the configuration is read with them.
struct SettingsHelp {
    private static let columns = 100

    private static let introduction = """
        Usage: sluice help settings [GROUP | KEY]

        Groups:
        """

    /// A group, a key or a schema.
    private let name: String?

    init(_ name: String?) {
        self.name = name
    }

    func text(_ options: Set<String>) throws(UsageError) -> String {
        switch (name, options) {
        case (nil, []): return overview
        case (nil, ["--man"]): return ManualPage.settings
        case (_, ["--schema"]): return try schema()
        case (let name?, ["--markdown"]):
            guard let table = SettingsReference.all.first(where: { $0.name == name }) else {
                throw unknown(name)
            }
            return table.markdown
        case (let word?, []): return try table(word)
        case (nil, ["--markdown"]): throw UsageError("--markdown needs a group")
        default: throw HelpArguments.misplaced(options)
        }
    }

    private var overview: String {
        let names = SettingsReference.all.map { table in
            let keys = table.rows.map(\.path).joined(separator: ", ")
            return wrapped("  " + table.name.padded(to: 24), keys)
        }
        return ([Self.introduction] + names).joined(separator: "\n")
    }

    private func schema() throws(UsageError) -> String {
        switch name {
        case nil: return SettingsReference.fileSchema
        case "DestinationPatch": return SettingsReference.patchSchema
        case "DestinationSettings": return SettingsReference.settingsSchema
        case let name?:
            throw .unknown("schema", name, among: ["DestinationPatch", "DestinationSettings"])
        }
    }

    /// Lists a group's keys with default and meaning, or describes one key in full.
    private func table(_ word: String) throws(UsageError) -> String {
        let tables = SettingsReference.all.filter { $0.isMeant(by: word) }
        guard tables.isEmpty else {
            return tables.map { table in
                let rows = table.rows.map { ($0.path, $0.setting) }
                let width = (rows.map(\.0.count).max() ?? 0) + 2
                let title = table.groups.joined(separator: ", ")
                return (title.isEmpty ? [] : ["\(title):"]).joined()
                    + rows.map { path, setting in
                        let start = "\n  " + path.padded(to: width)
                        return wrapped(
                            start,
                            "\(setting.plainHelp) (default: \(setting.plainDefault))"
                        )
                    }.joined()
            }.joined(separator: "\n\n").trimmedStart
        }
        for table in SettingsReference.all {
            for (path, setting) in table.rows where [path, table.fullKey(path)].contains(word) {
                return details(table.fullKey(path), setting)
            }
        }
        throw unknown(word)
    }

    private func details(_ key: String, _ setting: SettingDescription) -> String {
        let facts = Self.facts(setting).map { wrapped("  " + $0.padded(to: 10), $1) }
        return ([key, wrapped("  ", setting.plainHelp), ""] + facts).joined(separator: "\n")
    }

    /// What it wants, and so on, under short names.
    static func facts(_ setting: SettingDescription) -> [(name: String, fact: String)] {
        let bounds = setting.bounds.map { ", \($0)" } ?? ""
        let also = setting.sources.joined(separator: ", ")
        return [("wants", setting.wants + bounds), ("default", setting.plainDefault)]
            + (also.isEmpty ? [] : [("also", also)])
            + [("a reload", setting.isImmediate ? "applies it at once" : "wants a restart")]
    }

    private func unknown(_ word: String) -> UsageError {
        let names = SettingsReference.all.flatMap { table in
            [table.name] + table.rows.map { table.fullKey($0.path) }
        }
        return .unknown("group or key", word, among: names)
    }

    /// The text behind its start, each further line as far to the right.
    private func wrapped(_ start: String, _ text: String) -> String {
        let indent = start.drop { $0 == "\n" }.count
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, indent + line.count + word.count >= Self.columns {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        lines.append(line)
        return start + lines.joined(separator: "\n" + String(repeating: " ", count: indent))
    }
}

extension String {
    fileprivate var trimmedStart: String { String(drop { $0 == "\n" }) }

    /// With a space at its end at least.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(1, width - count))
    }
}
