/// Finds values behind the names of secrets in one line of text, however damaged it is: `"name": value`, `name=value`,
/// `name: value`, `--name value`, `<name>value<`, `Bearer value`, `https://user:password@host`.
///
/// It finds names by the separator behind them, so a stray quote cannot hide one.
struct SecretScanner {
    /// How much of the text after this line must be hidden too.
    enum Spill {
        case nothing, nextLine, rest
    }

    private static let nameBytesMax = 128
    private static let schemes = ["bearer", "basic", "apikey", "splunk", "digest", "token"]

    private let bytes: ArraySlice<UInt8>
    private var position: Int
    /// Everything before it is in the output.
    private var copied: Int
    private(set) var output: [UInt8] = []
    private(set) var count = 0
    private(set) var spill = Spill.nothing

    init(_ line: ArraySlice<UInt8>) {
        bytes = line
        (position, copied) = (line.startIndex, line.startIndex)
    }

    mutating func scan() {
        while position < bytes.endIndex {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: ":") where bytes[position...].starts(with: "://".utf8): maskUser()
            case UInt8(ascii: ":"), UInt8(ascii: "="): maskNamed()
            case UInt8(ascii: " "): maskSpaced()
            case UInt8(ascii: ">"): maskElement()
            default: position += 1
            }
        }
        output += bytes[copied...]
    }

    private mutating func hide(_ range: Range<Int>) {
        guard range.lowerBound >= copied, !range.isEmpty else { return }
        output += bytes[copied..<range.lowerBound] + Array(Mask.redacted(bytes[range]).utf8)
        (copied, position) = (range.upperBound, range.upperBound)
        count += 1
    }

    private func byte(_ position: Int) -> UInt8? {
        bytes.indices.contains(position) ? bytes[position] : nil
    }

    private func end(from start: Int, _ isPart: (UInt8) -> Bool) -> Int {
        bytes[start...].firstIndex { !isPart($0) } ?? bytes.endIndex
    }

    // MARK: - Names

    /// The name before a separator, with the quote that ends it.
    private func name(before separator: Int) -> (text: String, isQuoted: Bool) {
        var end = separator
        while end > copied, end > separator - 16, isBlank(bytes[end - 1]) { end -= 1 }
        var start = end
        if let quote = byte(end - 1), isQuote(quote), end - 1 >= copied {
            end -= 1
            // Skip the backslashes of an escaped quote.
            while end > copied, bytes[end - 1] == UInt8(ascii: "\\") { end -= 1 }
            start = end
            while start > copied, end - start < Self.nameBytesMax, bytes[start - 1] != quote {
                start -= 1
            }
            return (unescaped(bytes[start..<end]), true)
        }
        while start > copied, end - start < Self.nameBytesMax, isNameByte(bytes[start - 1]) {
            start -= 1
        }
        return (String(decoding: bytes[start..<end], as: UTF8.self), false)
    }

    private func unescaped(_ name: ArraySlice<UInt8>) -> String {
        String(decoding: Mask.unescaped(name), as: UTF8.self)
    }

    // MARK: - Values

    private mutating func maskNamed() {
        let separator = bytes[position]
        let (name, isQuoted) = name(before: position)
        position += 1
        if hideAttribute(name) { return }
        let isUnit = name == "s" && separator == UInt8(ascii: ":") && !isQuoted
        guard !isUnit, SecretNames.contains(name) else { return }
        let start = end(from: position) { isBlank($0) || [0x3a, 0x3d, 0x3e].contains($0) }
        guard !isHarmless(name, from: start) else { return }
        let isHeader =
            name.lowercased().hasSuffix("authorization") || name.lowercased().hasSuffix("cookie")
        hideValue(
            from: start,
            mayContainSpaces: separator == UInt8(ascii: ":"),
            toLineEnd: isHeader && !isQuoted
        )
    }

    /// True for `key=Enter`. A value that goes on behind this line is not known.
    private func isHarmless(_ name: String, from start: Int) -> Bool {
        guard SecretNames.isWeak(name), let first = byte(start), first != UInt8(ascii: "|") else {
            return false
        }
        if let value = quotedValue(from: start) {
            return value.isClosed && !SecretNames.contains(name, value: bytes[value.content])
        }
        let last = end(from: start) { $0 > 0x20 && !",;&<\"'".utf8.contains($0) }
        return !SecretNames.contains(name, value: bytes[start..<last])
    }

    /// `{"key": "password", "value": …}`: the value may stand on any side, so the line is hidden.
    private mutating func hideAttribute(_ name: String) -> Bool {
        guard Mask.labelNames.contains(name.lowercased()) else { return false }
        let start = end(from: position, isBlank)
        guard let value = quotedValue(from: start), value.isClosed,
            SecretNames.contains(unescaped(bytes[value.content]))
        else { return false }
        (output, copied) = ([], bytes.startIndex)
        hide(bytes.startIndex..<bytes.endIndex)
        spill = .rest
        return true
    }

    /// `mayContainSpaces`: the value may have spaces. `toLineEnd`: it is a header field, which ends with its line.
    private mutating func hideValue(from start: Int, mayContainSpaces: Bool, toLineEnd: Bool) {
        guard let first = byte(start) else {
            spill = .nextLine
            return
        }
        if let value = quotedValue(from: start) {
            if !value.isClosed { spill = .rest }
            return hide(value.content)
        }
        // Brackets within strings cannot be told from others here, so the value ends with the line.
        if [UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "(")].contains(first) {
            let rest = bytes[start...]
            let depth = rest.reduce(0) {
                $0 + ("{[(".utf8.contains($1) ? 1 : 0) - ("}])".utf8.contains($1) ? 1 : 0)
            }
            if depth > 0 { spill = .rest }
            return hide(start..<bytes.endIndex)
        }
        // A block of YAML.
        if first == UInt8(ascii: "|") || first == UInt8(ascii: ">") { spill = .rest }
        var last = start
        while last < bytes.endIndex,
            toLineEnd || !endsValue(last, mayContainSpaces: mayContainSpaces)
        { last += 1 }
        let word = String(decoding: bytes[start..<last], as: UTF8.self).lowercased()
        if !mayContainSpaces, Self.schemes.contains(word) {
            last = end(from: end(from: last, isBlank)) { $0 > 0x20 }
        }
        hide(start..<last)
    }

    /// The text between quotes. Escaped quotes (JSON in a string) end at a quote escaped equally often.
    private func quotedValue(from start: Int) -> (content: Range<Int>, isClosed: Bool)? {
        let first = end(from: start) { $0 == UInt8(ascii: "\\") }
        guard let quote = byte(first), isQuote(quote) else { return nil }
        let level = first - start
        var escapes = 0
        for position in bytes.indices[(first + 1)...] {
            if bytes[position] == UInt8(ascii: "\\") {
                escapes += 1
                continue
            }
            if bytes[position] == quote, escapes % (2 * (level + 1)) <= level {
                return (first + 1..<position - min(escapes, level), true)
            }
            escapes = 0
        }
        return (first + 1..<bytes.endIndex, false)
    }

    /// True at a character that ends a value without quotes, judged by what follows it.
    private func endsValue(_ position: Int, mayContainSpaces: Bool) -> Bool {
        // A bound, or long runs of these would take quadratic time.
        let run = bytes[(position + 1)...].prefix(16).prefix {
            isQuote($0) || $0 == UInt8(ascii: "\\")
        }
        let next = run.endIndex
        switch bytes[position] {
        case ..<0x20, UInt8(ascii: "&"), UInt8(ascii: "<"): return true
        case 0x20: return !mayContainSpaces
        case UInt8(ascii: ","), UInt8(ascii: ";"):
            guard let following = byte(next), following > 0x20 else { return true }
            let name = end(from: next) { isNameByte($0) }
            let separator = end(from: name) {
                isQuote($0) || isBlank($0) || $0 == UInt8(ascii: "\\")
            }
            return separator > next && [0x3a, 0x3d].contains(byte(separator) ?? 0)
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"), UInt8(ascii: "}"),
            UInt8(ascii: ")"), UInt8(ascii: "]"):
            return byte(next).map { $0 <= 0x20 || ",;:}])&".utf8.contains($0) } ?? true
        default: return false
        }
    }

    // MARK: - Values without a separator

    /// `Bearer value`, and `--name value`.
    private mutating func maskSpaced() {
        let space = position
        let start = end(from: space) { isBlank($0) }
        position = start
        let word = name(before: space).text
        let last = end(from: start) { isNameByte($0) || "+/=~".utf8.contains($0) }
        if word.hasPrefix("--"), SecretNames.contains(word), !isHarmless(word, from: start) {
            return hideValue(from: start, mayContainSpaces: false, toLineEnd: false)
        }
        let isToken =
            last - start >= 8
            && bytes[start..<last].contains {
                (0x30...0x3d).contains($0) || (0x41...0x5a).contains($0)
            }
        if isToken, Self.schemes.contains(word.lowercased()) { hide(start..<last) }
    }

    /// `<name …>value<`
    private mutating func maskElement() {
        let end = position
        position += 1
        let tag = bytes[copied..<end].suffix(Self.nameBytesMax)
        guard let start = tag.lastIndex(of: UInt8(ascii: "<")) else { return }
        let name = String(decoding: tag[(start + 1)...].prefix { $0 > 0x20 }, as: UTF8.self)
        guard !name.hasPrefix("/"), SecretNames.contains(name) else { return }
        let last = self.end(from: position) { $0 != UInt8(ascii: "<") }
        guard SecretNames.contains(name, value: bytes[position..<last]) else { return }
        if last == bytes.endIndex { spill = .rest }
        hide(position..<last)
    }

    /// User and password of an address.
    private mutating func maskUser() {
        position += 3
        let last = end(from: position) { $0 > 0x20 && !"/?#\"'<>\\`".utf8.contains($0) }
        let host = bytes[position..<last]
        if let at = host.lastIndex(of: UInt8(ascii: "@")) { return hide(position..<at) }
        // What is no port is a password whose end a limit has cut.
        guard let colon = host.lastIndex(of: UInt8(ascii: ":")), host.first != UInt8(ascii: "["),
            host[colon...].dropFirst().contains(where: { !(0x30...0x39).contains($0) })
        else { return }
        hide(position..<last)
    }

    // MARK: - Characters

    private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private func isQuote(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "`")
    }

    private func isNameByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
            || "-_.$[]".utf8.contains(byte) || byte >= 0x80
    }
}
