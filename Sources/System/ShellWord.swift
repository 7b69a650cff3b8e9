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
