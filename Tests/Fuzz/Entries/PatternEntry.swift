@testable import Routing

/// A tag pattern, a line break, and a tag.
enum TagPatternEntry: FuzzEntry {
    static let name = "tag-pattern"
    static let bytesMax = 400

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        let (text, rest) = parts(bytes)
        let tag = String(decoding: rest, as: UTF8.self)
        let pattern: TagPattern
        do {
            pattern = try TagPattern(text)
        } catch {
            try check(0...text.utf8.count ~= error.position, "outside of the pattern: \(error)")
            return
        }
        let match = pattern.match(tag)
        if let captured = match?.captured {
            try check(
                captured.utf8.count <= tag.utf8.count,
                "captured more than the tag: \(captured)"
            )
        }
        guard let automaton = TagAutomaton([pattern]) else {
            throw Contradiction(description: "one pattern needs too many states")
        }
        var isFound = false
        Array(tag.utf8).withUnsafeBufferPointer { automaton.matches($0) { _ in isFound = true } }
        try check(isFound == (match != nil), "the automaton says \(isFound)")
        if match != nil { try check(pattern.nearMiss(tag) == nil, "near, although it matches") }
    }
}

/// A regular expression, a line break, and a text.
enum TextPatternEntry: FuzzEntry {
    static let name = "text-pattern"
    static let bytesMax = 400

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        let (expression, text) = parts(bytes)
        let pattern: TextPattern
        do {
            pattern = try TextPattern(expression)
        } catch {
            let isInside = 0...expression.utf8.count ~= error.position
            try check(isInside, "outside of the pattern: \(error)")
            return
        }
        try exactly(text) { text throws(Contradiction) in
            let text = text.bindMemory(to: UInt8.self)
            let found = pattern.find(in: text, from: 0)
            try check(pattern.isMatch(text) == (found != nil), "isMatch and find disagree")
            var ranges: [Range<Int>?] = []
            let hasGroups = pattern.groups(in: text, into: &ranges)
            try check(hasGroups == (found != nil), "groups and find disagree")
            guard let found else { return }
            try check(
                0 <= found.lowerBound && found.upperBound <= text.count,
                "\(found) is outside"
            )
            try check(ranges.first == found && ranges.count == pattern.groupCount + 1, "\(ranges)")
            for case let range? in ranges {
                let isInside =
                    found.lowerBound <= range.lowerBound && range.upperBound <= found.upperBound
                try check(isInside, "group \(range) is outside of \(found)")
            }
            if let later = pattern.find(in: text, from: found.upperBound) {
                try check(later.lowerBound >= found.upperBound, "\(later) is in front of `from`")
            }
        }
    }
}

private func parts(_ bytes: [UInt8]) -> (pattern: String, text: [UInt8]) {
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
    return (String(decoding: line, as: UTF8.self), Array(bytes.dropFirst(line.count + 1)))
}
