/// Makes foreign text safe for an operator's terminal: one line, without control sequences and
/// without marks that reverse the order of letters.
package enum TerminalText {
    /// Returns plain text unchanged and anything else in quotes. Cuts long text.
    package static func shown(_ text: String, scalarsMax: Int = 200) -> String {
        let scalars = text.unicodeScalars
        let end = scalars.index(
            scalars.startIndex,
            offsetBy: scalarsMax,
            limitedBy: scalars.endIndex
        )
        let part = scalars[..<(end ?? scalars.endIndex)]
        let rest = part.endIndex < scalars.endIndex ? "…" : ""
        guard part.isEmpty || part.contains(where: wantsQuotes) else { return String(part) + rest }
        return "\"" + part.map(escaped).joined() + rest + "\""
    }

    /// Returns a sentence with its control characters escaped. Cuts long text.
    package static func sentence(_ text: String, scalarsMax: Int = 2000) -> String {
        text.unicodeScalars.prefix(scalarsMax)
            .map { steers($0) ? escaped($0) : String($0) }.joined()
    }

    /// Returns text of several lines with its other control characters escaped.
    package static func lines(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isSteeringInLines) else { return text }
        return text.unicodeScalars.map { isSteeringInLines($0) ? escaped($0) : String($0) }.joined()
    }

    /// Returns one line with spaces in place of control characters.
    package static func line(_ text: String) -> String {
        text.unicodeScalars.map { steers($0) ? " " : String($0) }.joined()
    }

    private static func isSteeringInLines(_ scalar: Unicode.Scalar) -> Bool {
        scalar != "\n" && scalar != "\t" && steers(scalar)
    }

    private static func wantsQuotes(_ scalar: Unicode.Scalar) -> Bool {
        scalar == " " || scalar == "\"" || scalar == "=" || scalar == "\\" || steers(scalar)
    }

    /// Control characters, line separators and invisible marks, except the joiners of letters and
    /// emoji.
    static func steers(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
        default: false
        }
    }

    fileprivate static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\"": "\\\""
        case "\\": "\\\\"
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        case _ where steers(scalar): "\\u{\(String(scalar.value, radix: 16))}"
        default: String(scalar)
        }
    }
}

/// "1 log", "2 logs".
package func counted(_ count: some BinaryInteger, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
}

/// Shortens a client's text for an error message that repeats it.
package func clipped(_ text: String, to count: Int = 64) -> String {
    text.count <= count ? text : text.prefix(count - 3) + "..."
}

/// Makes foreign text of any length, such as field names, safe for a terminal.
package func printable(_ text: String) -> String { TerminalText.sentence(text, scalarsMax: .max) }
