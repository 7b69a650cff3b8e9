/// A piece of a command's help: a line for a usage or an option, or a paragraph. Options, manual
/// pages and completions are made of these.
struct HelpEntry {
    /// "--config FILE", or "sluice fsck DIR | FILE [--json]"; empty for a paragraph.
    var term = ""
    private(set) var text: String
    /// The option's environment variable.
    private(set) var variable: String?

    static func entries(of help: String) -> [HelpEntry] {
        let usage = "       sluice "
        let text = help.replacing("Usage: sluice ", with: usage)
        var entries: [HelpEntry] = []
        var isNew = true
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let words = line.drop { $0 == " " }
            if line.hasPrefix("  --") || line.hasPrefix(usage) {
                entries.append(HelpEntry(line: words))
            } else if isNew, !words.isEmpty {
                entries.append(HelpEntry(text: String(words)))
            } else if !words.isEmpty {
                entries[entries.count - 1].continued(by: words)
            }
            isNew = words.isEmpty
        }
        return entries
    }

    private mutating func continued(by words: Substring) {
        text += (text.isEmpty ? "" : " ") + words
    }

    // MARK: - Options

    var isOption: Bool { term.hasPrefix("--") }

    var name: String { String(term.prefix { !" [".contains($0) }) }

    /// The placeholder of the option's value; empty for an option without a value.
    var value: Substring { term.dropFirst(name.count).drop { $0 == " " } }

    /// The value may be the next word. An optional value must follow "=".
    var takesWord: Bool { !value.isEmpty && !value.hasPrefix("[") }
}

extension HelpEntry {
    /// A line whose columns are two spaces or more apart, with the variable at its end.
    private init(line: Substring) {
        term = String(line[..<(line.firstRange(of: "  ")?.lowerBound ?? line.endIndex)])
        var words = line.dropFirst(term.count).split(separator: " ")
        if words.last?.hasPrefix("SLUICE_") ?? false { variable = words.popLast().map(String.init) }
        text = words.joined(separator: " ")
    }
}
