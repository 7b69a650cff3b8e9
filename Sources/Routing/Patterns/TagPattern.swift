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

/// Reads a tag pattern, and expands its braces.
struct TagPatternParser {
    private typealias Items = [TagGlob.Item]

    private let text: String
    private let bytes: [UInt8]
    private var position = 0
    /// Alternatives of the patterns that a space has ended.
    private var finished: [TagPattern.Alternative] = []

    init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
    }

    mutating func parse() throws(PatternProblem) -> [TagPattern.Alternative] {
        guard bytes.count <= TagPattern.bytesMax else {
            throw problem("a pattern has at most \(TagPattern.bytesMax) bytes", TagPattern.bytesMax)
        }
        if let control = bytes.firstIndex(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw problem("a control character", control)
        }
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: " "): position += 1
            case UInt8(ascii: "/"): finished.append(.expression(try expression()))
            default: finished += try sequence(in: nil).map { .glob(TagGlob(items: $0)) }
            }
            try bound(finished.count)
            guard finished.reduce(0, { $0 + $1.instructions }) <= TagPattern.instructionsMax else {
                throw problem(
                    "its regular expressions compile to more than \(TagPattern.instructionsMax) RE2 instructions; "
                        + "use smaller repeat counts, or several patterns",
                    0
                )
            }
        }
        guard !finished.isEmpty else { throw problem("the pattern is empty", 0) }
        return finished
    }

    private mutating func expression() throws(PatternProblem) -> TagExpression {
        let start = position
        var end = start + 1
        var isClosed = false
        while end < bytes.count, bytes[end] != UInt8(ascii: " ") {
            isClosed = bytes[end] == UInt8(ascii: "/")
            end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard isClosed else {
            throw problem(
                "/ at the start is not closed by one at the end (write a space as \\x20)",
                start
            )
        }
        position = end
        let utf8 = text.utf8
        let first = utf8.index(utf8.startIndex, offsetBy: start + 1)
        let last = utf8.index(utf8.startIndex, offsetBy: end - 1)
        return try TagExpression(text[first..<last], at: start + 1)
    }

    /// `brace` is the position of the brace around the sequence. Outside of braces a space ends the
    /// pattern.
    private mutating func sequence(in brace: Int?) throws(PatternProblem) -> [Items] {
        var heads: [Items] = [[]]
        // A dot waits for what follows: it is a part of `.**`, and dropped at the end.
        var hasDot = false
        func append(_ items: TagGlob.Item...) {
            for index in heads.indices { heads[index] += items }
        }
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: " ") { break }
            if bytes[position...].starts(with: "**".utf8) {
                position += 2
                if hasDot { append(.boundary) }
                hasDot = false
                if position < bytes.count, bytes[position] == TagGlob.dot {
                    position += 1
                    append(.leadingTerms, .byte(TagGlob.dot))
                } else {
                    append(.terms)
                }
                continue
            }
            if hasDot { append(.byte(TagGlob.dot)) }
            hasDot = false
            switch byte {
            case TagGlob.dot: hasDot = true
            case UInt8(ascii: "*"): append(.inTerm)
            case UInt8(ascii: "\\"):
                guard position + 1 < bytes.count else {
                    throw problem("\\ escapes nothing", position)
                }
                position += 1
                append(.byte(bytes[position]))
            case UInt8(ascii: "{"):
                let choices = try choices()
                try bound(finished.count + heads.count * choices.count)
                heads = heads.flatMap { head in choices.map { head + $0 } }
                continue
            case UInt8(ascii: ",") where brace != nil: return heads
            case UInt8(ascii: "}"):
                guard brace != nil else {
                    throw problem("} without a { (\\} is the character)", position)
                }
                return heads
            default: append(.byte(byte))
            }
            position += 1
        }
        if let brace { throw problem("{ is not closed by }, without spaces between them", brace) }
        return heads
    }

    private mutating func choices() throws(PatternProblem) -> [Items] {
        let brace = position
        var choices: [Items] = []
        repeat {
            position += 1
            choices += try sequence(in: brace)
            try bound(finished.count + choices.count)
        } while bytes[position] == UInt8(ascii: ",")
        position += 1
        return choices
    }

    private func bound(_ alternatives: Int) throws(PatternProblem) {
        guard alternatives <= TagPattern.alternativesMax else {
            throw problem("more than \(TagPattern.alternativesMax) alternatives", position)
        }
    }

    private func problem(_ reason: String, _ position: Int) -> PatternProblem {
        PatternProblem(position: position, reason: reason)
    }
}
