import System

/// Replaces secrets in text that is no JSON document: from a secret's name to the end of its line.
///
/// Where a value ends is a guess in damaged text, so nothing behind one is shown.
enum TextMask {
    /// Escapes in escapes that are looked into.
    private static let formsMax = 12

    /// Line by line, so that damage in one does not hide a secret in the next. A value that may not
    /// end on its line hides the rest. nil: there is no secret. `isCut`: a limit has cut the end.
    static func masked(_ bytes: ArraySlice<UInt8>, depth: Int, isCut: Bool) -> [UInt8]? {
        let newline = UInt8(ascii: "\n")
        var output: [UInt8] = []
        var hidesAny = false
        // Lines indented deeper than one with a secret continue it.
        var continued: Int?
        for line in bytes.split(separator: newline, omittingEmptySubsequences: false) {
            if line.startIndex > bytes.startIndex { output.append(newline) }
            let indent = line.prefix(while: isBlank).count
            if let depth = continued, indent > depth {
                output += Array(Mask.redacted(line).utf8)
                continue
            }
            continued = nil
            if line.count < bytes.count, let json = JSONMask(line, depth: depth) {
                hidesAny = hidesAny || json.hidesAny
                output += json.output
                continue
            }
            guard let secret = secret(in: line, isCut: isCut && line.endIndex == bytes.endIndex)
            else {
                output += line
                continue
            }
            hidesAny = true
            continued = indent
            let end = secret.isOpen ? bytes.endIndex : line.endIndex
            output += bytes[line.startIndex..<secret.start]
            output += Array(Mask.redacted(bytes[secret.start..<end]).utf8)
            if secret.isOpen { break }
        }
        return hidesAny ? output : nil
    }

    /// A line that shows a secret without its escapes is masked as a whole.
    private static func secret(
        in line: ArraySlice<UInt8>,
        isCut: Bool
    ) -> (start: Int, isOpen: Bool)? {
        let scanner = SecretScanner(line)
        guard let plain = plainSecret(in: line, isCut: isCut) else {
            return scanner.start.map { ($0, scanner.isOpen) }
        }
        let isOpen = plain.isOpen || scanner.isOpen
        // What stands before a name may be shown if it has no secret by itself.
        let shown = line[..<max(line.startIndex, (scanner.start ?? 0) - 1)]
        let isWhole = plainSecret(in: shown, isCut: true) != nil
        return (isWhole ? line.startIndex : scanner.start ?? line.startIndex, isOpen)
    }

    /// Looks for known values in each form without escapes, and for names in the last, which has
    /// the fewest: a scan is dear.
    private static func plainSecret(in line: ArraySlice<UInt8>, isCut: Bool) -> SecretScanner? {
        var forms = unescapedForms(line)
        let last = { forms.last?[...] ?? line }
        while forms.count < formsMax, last().contains(UInt8(ascii: "%")),
            let form = percentDecoded(last(), keepsMalformed: true), !form.elementsEqual(last())
        {
            forms.append(form)
        }
        if line.contains(where: { $0 == 0x1b || $0 == UInt8(ascii: "&") }) {
            forms.append(undecorated(last()))
        }
        guard !forms.isEmpty, !last().elementsEqual(line) else { return nil }
        let scanner = SecretScanner(last())
        let isKnown = { !SecretValues.ranges(in: $0, isCut: isCut).isEmpty }
        return scanner.start != nil || forms.contains(where: isKnown) ? scanner : nil
    }

    /// The text without JSON's escapes of visible ASCII, once for each of some levels of strings.
    static func unescapedForms(_ bytes: ArraySlice<UInt8>) -> [[UInt8]] {
        var forms: [[UInt8]] = []
        while forms.count < 6, (forms.last?[...] ?? bytes).contains(UInt8(ascii: "\\")) {
            let next = unescaped(forms.last?[...] ?? bytes)
            if next == forms.last { break }
            forms.append(next)
        }
        return forms
    }

    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var place = bytes.startIndex
        while place < bytes.endIndex {
            let code = bytes[place] == UInt8(ascii: "\\") ? bytes[(place + 1)...].prefix(5) : []
            if let first = code.first, "\"\\/".utf8.contains(first) {
                output.append(first)
                place += 2
            } else if code.count == 5, code.first == UInt8(ascii: "u"),
                let unit = UInt8(String(decoding: code.dropFirst(), as: UTF8.self), radix: 16),
                (0x20...0x7e).contains(unit) || isUnseen(unit)
            {
                if !isUnseen(unit) { output.append(unit) }
                place += 6
            } else {
                output.append(bytes[place])
                place += 1
            }
        }
        return output
    }

    /// UTF-16 has a NUL beside each letter, and a backspace takes one back.
    private static func isUnseen(_ byte: UInt8) -> Bool {
        byte < 0x20 && !isBlank(byte) && byte != 0x0a && byte != 0x0d && byte != 0x1b
            || byte == 0x7f
    }

    /// The text as it is seen, without control characters; nil: it has none.
    static func withoutUnseen(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        guard bytes.contains(where: isUnseen) else { return nil }
        var seen: [UInt8] = []
        seen.reserveCapacity(bytes.count)
        for byte in bytes {
            if !isUnseen(byte) { seen.append(byte) } else if byte == 0x08 { _ = seen.popLast() }
        }
        return seen
    }

    /// The text without a terminal's colours, and with HTML's references as they are shown.
    private static func undecorated(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let pieces = bytes.split(separator: 0x1b, omittingEmptySubsequences: false)
        let plain =
            pieces[0] + pieces[1...].flatMap { $0.drop { $0 < 0x40 || $0 == 0x5b }.dropFirst() }
        var output: [UInt8] = []
        output.reserveCapacity(plain.count)
        var place = plain.startIndex
        while place < plain.endIndex {
            if plain[place] == UInt8(ascii: "&"), let (byte, end) = reference(in: plain, place) {
                output.append(byte)
                place = end
            } else {
                output.append(plain[place])
                place += 1
            }
        }
        return output
    }

    private static let references: [String: UInt8] = [
        "quot": 0x22, "apos": 0x27, "lt": 0x3c, "gt": 0x3e, "amp": 0x26, "equals": 0x3d,
        "colon": 0x3a,
    ]

    /// The character that `&lt;`, `&#61;` or `&#x3d;` stands for, if it is visible ASCII, and
    /// where the reference ends.
    private static func reference(in text: ArraySlice<UInt8>, _ start: Int) -> (UInt8, end: Int)? {
        let rest = text[(start + 1)...].prefix(10)
        guard let end = rest.firstIndex(of: UInt8(ascii: ";")) else { return nil }
        let name = String(decoding: rest[..<end], as: UTF8.self)
        let byte: UInt8? =
            if name.hasPrefix("#x") || name.hasPrefix("#X") {
                UInt8(name.dropFirst(2), radix: 16)
            } else if name.hasPrefix("#") {
                UInt8(name.dropFirst())
            } else {
                references[name]
            }
        return byte.flatMap { (0x20...0x7e).contains($0) ? ($0, end + 1) : nil }
    }
}

/// Finds values behind the names of secrets in one line of text, however damaged it is:
/// `"name": value`, `name=value`, `name: value`, `--name value`, `<name>value<`, `Bearer value`,
/// `https://user:password@host`.
///
/// It finds names by the separator behind them, so a stray quote cannot hide one.
private struct SecretScanner {
    private static let nameBytesMax = 128
    private static let schemes = ["bearer", "basic", "apikey", "splunk", "digest", "token"]

    private let bytes: ArraySlice<UInt8>
    /// Where the first value begins; nil: there is none.
    private(set) var start: Int?
    /// A value may go on behind the line.
    private(set) var isOpen = false
    /// Where the tag begins that is open here.
    private var tagStart: Int?
    /// What may still be searched for ends of quotes, so that many open ones do not take long.
    private var searchLeft: Int
    private lazy var hasValue = bytes.indices.contains { bytes[$0...].starts(with: "value".utf8) }

    init(_ line: ArraySlice<UInt8>) {
        bytes = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        searchLeft = 16 * line.count
        for position in bytes.indices {
            switch bytes[position] {
            case UInt8(ascii: ":") where bytes[position...].starts(with: "://".utf8):
                findUser(position + 3)
            case UInt8(ascii: ":"), UInt8(ascii: "="): findNamed(position)
            case 0x09, 0x20: findSpaced(position)
            case UInt8(ascii: ","): findListed(position)
            case UInt8(ascii: "<"): tagStart = position
            case UInt8(ascii: ">"): findElement(position)
            default: break
            }
        }
    }

    private mutating func find(_ start: Int, isOpen: Bool = false) {
        self.start = min(self.start ?? start, start)
        self.isOpen = self.isOpen || isOpen
    }

    private func end(from start: Int, _ isPart: (UInt8) -> Bool) -> Int {
        bytes[start...].firstIndex { !isPart($0) } ?? bytes.endIndex
    }

    /// The name before a separator, and true if a quote ends it. nil: there is none.
    private func name(before separator: Int) -> (text: [UInt8], isQuoted: Bool)? {
        var end = separator
        while end > bytes.startIndex, isBlank(bytes[end - 1]) || bytes[end - 1] == UInt8(ascii: "*")
        {
            end -= 1
        }
        let word = word(before: end)
        guard word.isEmpty, let last = bytes[..<end].last, isQuote(last) else {
            return word.isEmpty ? nil : (Array(word), false)
        }
        // Skip the backslashes of an escaped quote.
        end -= 1
        while end > bytes.startIndex, bytes[end - 1] == UInt8(ascii: "\\") { end -= 1 }
        let name = bytes[..<end].suffix(Self.nameBytesMax).reversed().prefix { $0 != last }
        return (unescaped(bytes[end - name.count..<end]), true)
    }

    private func word(before end: Int) -> ArraySlice<UInt8> {
        // `user['password']`
        let hasQuotes = bytes[..<end].last == UInt8(ascii: "]")
        let name = bytes[..<end].suffix(Self.nameBytesMax).reversed()
            .prefix { isNameByte($0) || hasQuotes && isQuote($0) }
        return bytes[end - name.count..<end]
    }

    private func unescaped(_ name: ArraySlice<UInt8>) -> [UInt8] {
        TextMask.unescapedForms(name).last ?? Array(name)
    }

    /// The value that begins here: the text between quotes, or the beginning of a word. A value
    /// with a bracket has an end that cannot be told from those in strings here.
    private mutating func value(
        from start: Int
    ) -> (content: ArraySlice<UInt8>, isClosed: Bool, isBracket: Bool) {
        let first = end(from: start) { $0 == UInt8(ascii: "\\") }
        // It is on the next line.
        guard first < bytes.endIndex else { return ([], false, false) }
        guard isQuote(bytes[first]) else {
            let word = bytes[start...].prefix(SecretNames.weakValueBytesMin)
                .prefix { $0 > 0x20 && !",;&<\"'".utf8.contains($0) }
            // `|` and `>-` begin a block of YAML.
            let isBlock =
                bytes[first] == UInt8(ascii: "|")
                || start > bytes.startIndex && bytes[start - 1] == UInt8(ascii: ">")
                    && word.count < 3 && word.allSatisfy { isDigit($0) || "+-".utf8.contains($0) }
            let isScheme = isScheme(word) && end(from: word.endIndex, isBlank) == bytes.endIndex
            return (word, !isBlock && !isScheme, "{[(".utf8.contains(bytes[first]))
        }
        // Escaped quotes (JSON in a string) end at a quote escaped equally often.
        let level = first - start
        var escapes = 0
        for position in bytes.indices[(first + 1)...] {
            searchLeft -= 1
            if searchLeft < 0 {
                find(bytes.startIndex, isOpen: true)
                break
            }
            if bytes[position] == UInt8(ascii: "\\") {
                escapes += 1
                continue
            }
            if bytes[position] == bytes[first], escapes % (2 * (level + 1)) <= level {
                return (bytes[(first + 1)..<position - min(escapes, level)], true, false)
            }
            escapes = 0
        }
        return (bytes[(first + 1)...], false, false)
    }

    private mutating func findNamed(_ separator: Int) {
        guard let (name, isQuoted) = name(before: separator) else { return }
        if name.count < 10 { findLabelled(by: name, separator) }
        let isUnit =
            name == [UInt8(ascii: "s")] && bytes[separator] == UInt8(ascii: ":") && !isQuoted
        if !isUnit { findValue(of: name, separator) }
    }

    /// `{"key": "password", "value": …}`: the value may stand on any side.
    private mutating func findLabelled(by name: [UInt8], _ separator: Int) {
        let label = String(decoding: name, as: UTF8.self).lowercased()
        let isWeak = Mask.weakLabelNames.contains(label)
        guard isWeak || Mask.labelNames.contains(label) else { return }
        let value = value(from: end(from: separator + 1, isBlank))
        let name = unescaped(value.content.prefix(Self.nameBytesMax))
        guard value.isClosed, SecretNames.contains(name) else { return }
        guard isQuote(bytes[value.content.startIndex - 1]) else {
            // `<input value="…" name=password>`
            if let tagStart, hasValue { find(tagStart, isOpen: true) }
            return
        }
        // The next line may have the value.
        let isLast = value.content.endIndex + 3 > bytes.endIndex
        if !isWeak || isLast || hasValue { find(bytes.startIndex, isOpen: true) }
    }

    /// `"--name", "value"` in a list.
    private mutating func findListed(_ comma: Int) {
        let next = end(from: comma + 1, isBlank)
        guard next < bytes.endIndex, isQuote(bytes[next]),
            let (name, isQuoted) = name(before: comma), isQuoted
        else { return }
        findValue(of: name, comma)
    }

    /// `key=Enter` is no secret, but a value that goes on behind this line is not known.
    private mutating func findValue(of name: [UInt8], _ separator: Int) {
        guard !isOpen, SecretNames.contains(name) else { return }
        let start = end(from: separator + 1) { isBlank($0) || ":=>".utf8.contains($0) }
        let value = value(from: start)
        guard !value.isClosed || SecretNames.hides(value.content, behind: name) else { return }
        find(separator + 1, isOpen: !value.isClosed || value.isBracket)
    }

    private func isScheme(_ word: ArraySlice<UInt8>) -> Bool {
        (5...6).contains(word.count)
            && Self.schemes.contains(String(decoding: word, as: UTF8.self).lowercased())
    }

    /// `Bearer value`, and `--name value`.
    private mutating func findSpaced(_ space: Int) {
        let word = word(before: bytes[..<space].last.map(isQuote) == true ? space - 1 : space)
        if word.starts(with: "--".utf8) { findValue(of: Array(word), space) }
        guard isScheme(word) else { return }
        let start = end(from: space, isBlank)
        let token = bytes[start...].prefix { isNameByte($0) || "+/=~".utf8.contains($0) }
        let isToken =
            token.count >= 8
            && token.contains { (0x30...0x3d).contains($0) || (0x41...0x5a).contains($0) }
        if isToken { find(start) }
    }

    /// `<name …>value<`
    private mutating func findElement(_ end: Int) {
        guard let start = tagStart else { return }
        tagStart = nil
        let tag = bytes[(start + 1)..<end].prefix(Self.nameBytesMax).prefix { $0 > 0x20 }
        let name = String(decoding: tag, as: UTF8.self)
        guard !isOpen, !name.hasPrefix("/"), SecretNames.contains(name) else { return }
        let value = bytes[(end + 1)...].prefix { $0 != UInt8(ascii: "<") }
        guard SecretNames.contains(name, value: value) else { return }
        find(end + 1, isOpen: value.endIndex == bytes.endIndex)
    }

    /// User and password of an address.
    private mutating func findUser(_ start: Int) {
        let host = bytes[start...].prefix { $0 > 0x20 && !"/?#\"'<>\\`".utf8.contains($0) }
        let port = host.lastIndex(of: UInt8(ascii: ":")).map { host[$0...].dropFirst() } ?? []
        // What is no port is a password whose end a limit has cut.
        let isPassword = host.first != UInt8(ascii: "[") && !port.allSatisfy(isDigit)
        if isPassword || host.contains(UInt8(ascii: "@")) { find(start) }
    }
}

private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

private func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

private func isQuote(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "`")
}

private func isNameByte(_ byte: UInt8) -> Bool {
    isDigit(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        || "-_.$[]".utf8.contains(byte) || byte >= 0x80
}
