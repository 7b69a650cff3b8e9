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
