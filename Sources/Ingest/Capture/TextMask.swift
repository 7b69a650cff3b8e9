import System

/// Replaces secrets in text that is no JSON document: from a secret's name to the end of its line.
///
/// Where a value ends is a guess in damaged text, so nothing behind one is shown.
enum TextMask {
    /// Line by line, so that damage in one does not hide a secret in the next. A value that may not
    /// end on its line hides the rest. nil: there is no secret. `isCut`: a limit has cut the end.
    static func masked(_ bytes: ArraySlice<UInt8>, depth: Int, isCut: Bool) -> [UInt8]? {
        let newline = UInt8(ascii: "\n")
        var output: [UInt8] = []
        var hidesAny = false
        for line in bytes.split(separator: newline, omittingEmptySubsequences: false) {
            if line.startIndex > bytes.startIndex { output.append(newline) }
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
            let end = secret.isOpen ? bytes.endIndex : line.endIndex
            output += bytes[line.startIndex..<secret.start]
            output += Array(Mask.redacted(bytes[secret.start..<end]).utf8)
            if secret.isOpen { break }
        }
        return hidesAny ? output : nil
    }

    /// A line with escapes that has a secret without them is masked as a whole.
    private static func secret(
        in line: ArraySlice<UInt8>,
        isCut: Bool
    ) -> (start: Int, isOpen: Bool)? {
        let percent =
            line.contains(UInt8(ascii: "%")) ? percentDecoded(line, keepsMalformed: true) : nil
        for plain in [unescaped(line), percent].compactMap(\.self) where plain != Array(line) {
            let inner = SecretScanner(plain[...])
            guard inner.start != nil || !SecretValues.ranges(in: plain, isCut: isCut).isEmpty
            else { continue }
            return (line.startIndex, inner.isOpen || SecretScanner(line).isOpen)
        }
        let scanner = SecretScanner(line)
        return scanner.start.map { ($0, scanner.isOpen) }
    }

    /// The text without JSON's escapes of visible ASCII, at any depth of strings.
    fileprivate static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard bytes.contains(UInt8(ascii: "\\")) else { return Array(bytes) }
        var output: [UInt8] = []
        var rest = bytes
        while let first = rest.first {
            guard first == UInt8(ascii: "\\") else {
                output.append(first)
                rest = rest.dropFirst()
                continue
            }
            let slashes = rest.prefix { $0 == first }
            let code = rest[slashes.endIndex...]
            let digits = code.dropFirst().prefix(4)
            if code.first == UInt8(ascii: "u"), digits.count == 4,
                let unit = UInt8(String(decoding: digits, as: UTF8.self), radix: 16),
                (0x20...0x7e).contains(unit)
            {
                output.append(unit)
                rest = code.dropFirst(5)
            } else if code.first == UInt8(ascii: "/") {
                rest = code
            } else {
                output += slashes
                rest = code
            }
        }
        return output
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

    init(_ line: ArraySlice<UInt8>) {
        bytes = line
        for (position, byte) in zip(line.indices, line) {
            switch byte {
            case UInt8(ascii: ":") where line[position...].starts(with: "://".utf8):
                findUser(position + 3)
            case UInt8(ascii: ":"), UInt8(ascii: "="): findNamed(position)
            case UInt8(ascii: " ") where !line[..<position].suffix(1).contains(where: isBlank):
                findSpaced(position)
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

    /// The name before a separator, and true if a quote ends it.
    private func name(before separator: Int) -> (text: String, isQuoted: Bool) {
        let before = bytes[..<separator]
        let end = separator - before.suffix(16).reversed().prefix(while: isBlank).count
        guard let quote = bytes[..<end].last, isQuote(quote) else {
            let name = bytes[..<end].suffix(Self.nameBytesMax).reversed().prefix(while: isNameByte)
            return (String(decoding: name.reversed(), as: UTF8.self), false)
        }
        // Skip the backslashes of an escaped quote.
        var last = end - 1
        while last > bytes.startIndex, bytes[last - 1] == UInt8(ascii: "\\") { last -= 1 }
        let name = bytes[..<last].suffix(Self.nameBytesMax).reversed().prefix { $0 != quote }
        return (text(bytes[last - name.count..<last]), true)
    }

    private func text(_ name: ArraySlice<UInt8>) -> String {
        String(decoding: TextMask.unescaped(name), as: UTF8.self)
    }

    /// The value that begins here: the text between quotes, or a word.
    private func value(
        from start: Int,
        isWeak: Bool
    ) -> (content: ArraySlice<UInt8>, isClosed: Bool) {
        let first = end(from: start) { $0 == UInt8(ascii: "\\") }
        // It is on the next line.
        guard first < bytes.endIndex else { return ([], false) }
        guard isQuote(bytes[first]) else {
            // Its beginning is enough, and a bound: a word may have many names.
            let word = bytes[start...].prefix(Self.nameBytesMax)
                .prefix { $0 > 0x20 && !",;&<\"'".utf8.contains($0) }
            // A block of YAML, or a bracket, whose end cannot be told from those in strings here.
            return (word, !(isWeak ? "|" : "|{[(").utf8.contains(bytes[first]))
        }
        // Escaped quotes (JSON in a string) end at a quote escaped equally often.
        let level = first - start
        var escapes = 0
        for position in bytes.indices[(first + 1)...] {
            if bytes[position] == UInt8(ascii: "\\") {
                escapes += 1
                continue
            }
            if bytes[position] == bytes[first], escapes % (2 * (level + 1)) <= level {
                return (bytes[(first + 1)..<position - min(escapes, level)], true)
            }
            escapes = 0
        }
        return (bytes[(first + 1)...], false)
    }

    private mutating func findNamed(_ separator: Int) {
        let (name, isQuoted) = name(before: separator)
        if Mask.labelNames.contains(name.lowercased()) {
            let value = value(from: end(from: separator + 1, isBlank), isWeak: true)
            // `{"key": "password", "value": …}`: the value may stand on any side.
            if value.isClosed, bytes[..<value.content.startIndex].last.map(isQuote) ?? false,
                SecretNames.contains(text(value.content))
            {
                return find(bytes.startIndex, isOpen: true)
            }
        }
        let isUnit = name == "s" && bytes[separator] == UInt8(ascii: ":") && !isQuoted
        if !isUnit { findValue(of: name, separator) }
    }

    /// `key=Enter` is no secret, but a value that goes on behind this line is not known.
    private mutating func findValue(of name: String, _ separator: Int) {
        guard !isOpen, SecretNames.contains(name) else { return }
        let start = end(from: separator + 1) { isBlank($0) || ":=>".utf8.contains($0) }
        let value = value(from: start, isWeak: SecretNames.isWeak(name))
        guard !value.isClosed || SecretNames.contains(name, value: value.content) else { return }
        find(separator + 1, isOpen: !value.isClosed)
    }

    /// `Bearer value`, and `--name value`.
    private mutating func findSpaced(_ space: Int) {
        let word = name(before: space).text
        if word.hasPrefix("--") { findValue(of: word, space) }
        guard Self.schemes.contains(word.lowercased()) else { return }
        let start = end(from: space, isBlank)
        let token = bytes[start...].prefix { isNameByte($0) || "+/=~".utf8.contains($0) }
        let isToken =
            token.count >= 8
            && token.contains { (0x30...0x3d).contains($0) || (0x41...0x5a).contains($0) }
        if isToken { find(start) }
    }

    /// `<name …>value<`
    private mutating func findElement(_ end: Int) {
        let tag = bytes[..<end].suffix(Self.nameBytesMax)
        guard let start = tag.lastIndex(of: UInt8(ascii: "<")) else { return }
        let name = String(decoding: tag[(start + 1)...].prefix { $0 > 0x20 }, as: UTF8.self)
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
