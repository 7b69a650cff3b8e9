import Glibc

/// Output for the person who typed the command.
package enum Terminal {
    package static func say(_ text: String) {
        put(text + "\n", to: 1)
    }

    package static func complain(_ text: String) {
        put(text + "\n", to: 2)
    }

    /// Writes the bytes, with control characters escaped where a terminal would obey them. Returns
    /// false once the reader has closed the pipe.
    @discardableResult
    package static func say(bytes: [UInt8]) -> Bool {
        isatty(1) == 1
            ? put(
                Array(TerminalText.lines(String(decoding: bytes, as: UTF8.self)).utf8)[...],
                to: 1
            )
            : put(bytes[...], to: 1)
    }

    /// Writes a screen, whose maker has escaped what it shows.
    @discardableResult
    package static func draw(_ screen: String) -> Bool { put(Array(screen.utf8)[...], to: 1) }

    private static func put(_ text: String, to descriptor: CInt) {
        put(Array(TerminalText.lines(text).utf8)[...], to: descriptor)
    }

    @discardableResult
    private static func put(_ content: ArraySlice<UInt8>, to descriptor: CInt) -> Bool {
        var bytes = content
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            // A closed pipe has no reader left.
            guard written > 0 else { return false }
            bytes = bytes.dropFirst(written)
        }
        return true
    }
}

/// Exit codes of the commands.
package enum ExitCode {
    package static let fine: CInt = 0
    package static let failed: CInt = 1
    /// Wrong usage or configuration.
    package static let wrong: CInt = 2
}

/// Why the gateway cannot start, in one line with the remedy.
package struct StartProblem: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

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

/// Text for a line that an operator pastes into a shell: sh, bash, dash, ksh, zsh or busybox. The
/// line has no control character, which a terminal may take for a key, and no mark that reverses
/// the order of letters.
package enum ShellWord {
    /// The text as one word. nil: no word can hold a NUL, and `$(…)` loses line ends at the end;
    /// `printing` keeps both.
    package static func quoted(_ text: String) -> String? {
        let isPlain = text.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0)
                || "-/.".utf8.contains($0)
        }
        if isPlain, !text.isEmpty { return text }
        // Within single quotes a shell leaves everything as it is.
        guard text.unicodeScalars.contains(where: TerminalText.steers) else {
            return "'\(text.escaping(["'": #"'\''"#]))'"
        }
        guard !text.utf8.contains(0), text.utf8.last != UInt8(ascii: "\n") else { return nil }
        return "\"$(\(printing(text)))\""
    }

    /// A command that prints exactly this text. `$'…'` would be shorter, but dash does not know it.
    package static func printing(_ text: String) -> String {
        var format = ""
        for scalar in text.unicodeScalars {
            // Interactive shells look for `!` within double quotes.
            let isSpecial =
                "'\\%!".unicodeScalars.contains(scalar) || format.isEmpty && scalar == "-"
            guard isSpecial || TerminalText.steers(scalar) else {
                format.unicodeScalars.append(scalar)
                continue
            }
            for byte in String(scalar).utf8 {
                let digits = String(byte, radix: 8)
                format += "\\" + String(repeating: "0", count: 3 - digits.count) + digits
            }
        }
        return "printf '\(format)'"
    }
}
