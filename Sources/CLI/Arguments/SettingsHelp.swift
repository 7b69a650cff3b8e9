import Configuration
import System

/// `sluice help settings`: the tables of settings, as the configuration is read with them.
struct SettingsHelp {
    private static let columns = 100

    static let usage = """
        Usage: sluice help settings [GROUP | KEY]
               sluice help settings --markdown GROUP    the table of a page in docs
               sluice help settings --schema [NAME]     JSON schema of the file, or of DestinationPatch
                                                        or DestinationSettings of the admin API

        An editor that knows YAML checks the file with the schema: write it to sluice.schema.json, and begin the
        file with  # yaml-language-server: $schema=sluice.schema.json

        Groups:
        """

    private let words: [String]

    init(_ words: [String]) {
        self.words = words
    }

    func text() throws(UsageError) -> String {
        if let extra = words.dropFirst(words.first?.hasPrefix("--") == true ? 2 : 1).first {
            throw UsageError("sluice help settings: unexpected \(extra)")
        }
        switch words.first {
        case nil: return overview
        case "--schema": return try schema(words.dropFirst().first)
        case "--markdown":
            guard let name = words.dropFirst().first else {
                throw UsageError("--markdown needs a value: --markdown GROUP")
            }
            let tables = SettingsReference.all.filter { $0.name == name }
            guard let table = tables.first else { throw unknown(name) }
            return table.markdown
        case let word?: return try table(word)
        }
    }

    private var overview: String {
        let names = SettingsReference.all.map { table in
            let keys = table.rows.map(\.path).joined(separator: ", ")
            return wrapped("  " + padded(table.name, 24), keys)
        }
        return ([Self.usage] + names).joined(separator: "\n")
    }

    private func schema(_ name: String?) throws(UsageError) -> String {
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
                        let start = "\n  " + padded(path, width)
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
        let bounds = setting.bounds.map { ", \($0)" } ?? ""
        var lines = [
            key, wrapped("  ", setting.plainHelp), "",
            wrapped("  wants     ", setting.wants + bounds),
            wrapped("  default   ", setting.plainDefault),
        ]
        if !setting.sources.isEmpty {
            lines.append("  also      \(setting.sources.joined(separator: ", "))")
        }
        lines.append(
            "  a reload  \(setting.isImmediate ? "applies it at once" : "wants a restart")"
        )
        return lines.joined(separator: "\n")
    }

    private func unknown(_ word: String) -> UsageError {
        let names = SettingsReference.all.flatMap { table in
            [table.name] + table.rows.map { table.fullKey($0.path) }
        }
        return .unknown("group or key", word, among: names)
    }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
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
}
