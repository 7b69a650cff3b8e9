/// A pattern of tags, such as `pv.**`, with the rules of fluentd.
///
/// `*` takes a part of a term, `**` any number of terms. The dot of `a.**` and `**.a` belongs to
/// the wildcard, so both match `a`. `{a,b}` is either; a space separates whole patterns; `\` makes
/// the next character literal; `/re/` is a regular expression for the whole tag. A dot at the very
/// end is dropped.
package struct TagPattern: Sendable, Hashable {
    package static let bytesMax = 256
    /// What braces and spaces expand to.
    package static let alternativesMax = 64
    /// The instructions of its expressions together.
    package static let instructionsMax = 8192

    enum Alternative: Sendable {
        case glob(TagGlob)
        case expression(TagExpression)

        var instructions: Int {
            if case .expression(let expression) = self { expression.instructions } else { 0 }
        }
    }

    package let text: String
    let alternatives: [Alternative]

    package init(_ text: String) throws(PatternProblem) {
        self.text = text
        var parser = TagPatternParser(text)
        alternatives = try parser.parse()
    }

    /// The instructions that its expressions compile to.
    package var instructions: Int { alternatives.reduce(0) { $0 + $1.instructions } }

    package static func == (left: Self, right: Self) -> Bool { left.text == right.text }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }

    /// Matches without an automaton: for tests, the tester, and the capture of a plan.
    package func match(_ tag: String) -> TagMatch? {
        var tag = tag
        return tag.withUTF8 { match($0) }
    }

    func match(_ tag: UnsafeBufferPointer<UInt8>) -> TagMatch? {
        for alternative in alternatives {
            switch alternative {
            case .glob(let glob): if let match = glob.match(tag) { return match }
            case .expression(let expression):
                if expression.matches(tag) { return TagMatch(captured: nil) }
            }
        }
        return nil
    }
}

/// A tag that a pattern matches.
package struct TagMatch: Sendable, Equatable {
    /// What the last wildcard took. Nil: the pattern has no wildcard.
    package let captured: String?
}

/// A regular expression for a whole tag. RE2 has no look-ahead; a leading `(?!X)` is evaluated on
/// its own, because fluentd's users know no other way to negate.
struct TagExpression: Sendable {
    /// A tag is short, so its expressions need less than those for values.
    private static let memoryMax = 256 << 10

    private let wanted: Expression
    private let unwanted: Expression?

    var instructions: Int { wanted.instructions + (unwanted?.instructions ?? 0) }

    /// `offset` is the place of the text in its pattern, for errors.
    init(_ text: Substring, at offset: Int) throws(PatternProblem) {
        var rest = text
        var start = offset
        if text.hasPrefix("(?!") {
            let inner = try Self.group(text, at: offset)
            unwanted = try Self.expression(inner, at: offset + 3)
            rest = text[text.utf8.index(after: inner.endIndex)...]
            start = offset + 4 + inner.utf8.count
        } else {
            unwanted = nil
        }
        wanted = try Self.expression(rest, at: start)
    }

    func matches(_ tag: UnsafeBufferPointer<UInt8>) -> Bool {
        if let unwanted, unwanted.matches(start: tag) { return false }
        return wanted.matches(whole: tag)
    }

    /// What stands between `(?!` and its parenthesis.
    private static func group(
        _ text: Substring,
        at offset: Int
    ) throws(PatternProblem) -> Substring {
        let start = text.utf8.index(text.startIndex, offsetBy: 3)
        var depth = 1
        for (index, byte) in syntax(text[start...]) {
            if byte == UInt8(ascii: "(") { depth += 1 }
            if byte == UInt8(ascii: ")") { depth -= 1 }
            if depth == 0 { return text[start..<index] }
        }
        throw PatternProblem(position: offset, reason: "(?! is not closed")
    }

    private static func expression(
        _ text: Substring,
        at offset: Int
    ) throws(PatternProblem) -> Expression {
        for (index, byte) in syntax(text) where byte == UInt8(ascii: "(") {
            let isLookAround = ["(?=", "(?!", "(?<=", "(?<!"].contains {
                text[index...].hasPrefix($0)
            }
            guard isLookAround else { continue }
            throw PatternProblem(
                position: offset + text.utf8.distance(from: text.startIndex, to: index),
                reason: "look-around is not supported, except (?!…) at the start of the expression"
            )
        }
        do {
            return try Expression(String(text), memoryMax: memoryMax)
        } catch {
            throw PatternProblem(position: offset + error.position, reason: error.reason)
        }
    }

    /// The bytes that are neither escaped nor in a class.
    private static func syntax(_ text: Substring) -> [(index: String.Index, byte: UInt8)] {
        var found: [(index: String.Index, byte: UInt8)] = []
        var isEscaped = false
        var classStart: Int?
        for (number, index) in text.utf8.indices.enumerated() {
            let byte = text.utf8[index]
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if let start = classStart {
                // A bracket right after `[` or `[^` is a member of the class.
                let isFirst =
                    number == start + 1
                    || (number == start + 2
                        && text.utf8[text.utf8.index(before: index)] == UInt8(ascii: "^"))
                if byte == UInt8(ascii: "]"), !isFirst { classStart = nil }
            } else if byte == UInt8(ascii: "[") {
                classStart = number
            } else {
                found.append((index, byte))
            }
        }
        return found
    }
}
