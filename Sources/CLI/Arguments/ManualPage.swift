import Configuration
import System

/// A page of the manual, in roff with the macros of man(7).
struct ManualPage {
    private(set) var text: String

    init(_ name: String, section: Int, about: String) {
        text = """
            .TH \(name.uppercased()) \(section) "" "Sluice \(Version.current)" "Sluice"
            .nh
            .ad l
            .SH NAME
            \(Self.escaped("\(name) - \(about)"))
            """
    }

    mutating func section(_ title: String) { text += "\n.SH \(title)" }

    mutating func subsection(_ title: String) { text += "\n.SS \"\(Self.escaped(title))\"" }

    mutating func paragraph(_ words: String) { text += "\n.PP\n\(Self.escaped(words))" }

    /// A term, and behind it or below it what it means.
    mutating func term(_ term: String, _ meaning: String) {
        text +=
            meaning.isEmpty
            ? "\n.PP\n\(Self.marked(term))"
            : "\n.TP\n\(Self.marked(term))\n\(Self.escaped(meaning))"
    }

    mutating func example(_ lines: String) {
        let lines = lines.split(separator: "\n", omittingEmptySubsequences: false)
        text += "\n.PP\n.EX\n\(lines.map { Self.escaped(String($0)) }.joined(separator: "\n"))\n.EE"
    }

    /// As a line that means itself. Words in backticks become bold.
    private static func escaped(_ text: String) -> String {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        let line = parts.enumerated().map {
            $0 % 2 == 1 ? "\\fB\(plain($1))\\fR" : plain($1)
        }.joined()
        // A dot at the beginning would make it a request.
        return line.hasPrefix(".") ? "\\&\(line)" : line
    }

    /// What is typed as it is becomes bold, and placeholders become italic: "--config FILE".
    private static func marked(_ term: String) -> String {
        var marked = ""
        var rest = term[...]
        while !rest.isEmpty {
            let word = rest.prefix { $0.isLetter || $0.isNumber || "-_.".contains($0) }
            let font = word.allSatisfy(\.isUppercase) ? "I" : "B"
            if !word.isEmpty { marked += "\\f\(font)\(plain(word))\\fR" }
            rest = rest.dropFirst(word.count)
            marked += plain(rest.prefix(1))
            rest = rest.dropFirst()
        }
        return marked
    }

    private static func plain(_ text: Substring) -> String {
        let names: [Unicode.Scalar: String] = [
            "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "\"": "\\(dq", "^": "\\(ha",
            "~": "\\(ti",
        ]
        return text.unicodeScalars.map { scalar in
            let code = String(scalar.value, radix: 16, uppercase: true)
            return names[scalar] ?? (scalar.isASCII ? "\(scalar)" : "\\[u\(code)]")
        }.joined()
    }
}
