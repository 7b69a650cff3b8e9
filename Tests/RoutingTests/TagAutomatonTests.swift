import TestSupport
import Testing

@testable import Routing

/// The automaton, the suffix table and a naive matcher agree on random patterns and tags.
@Suite struct TagAutomatonTests {
    @Test(arguments: 0..<20)
    func allMatchersAgree(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        // Several words of states, and patterns that lie across words.
        let patterns = (0..<60).compactMap { _ in
            try? TagPattern(
                random.text(of: ["a", "b", ".", "*", "**", ".**", "**.", "{a,.b}", "{", "}", ","])
            )
        }
        let automaton = try #require(TagAutomaton(patterns))
        for _ in 0..<100 {
            let tag = random.text(of: ["a", "b", ".", "c"])
            let bytes = Array(tag.utf8)
            var found: Set<Int> = []
            bytes.withUnsafeBufferPointer { automaton.matches($0) { found.insert($0) } }
            for (number, pattern) in patterns.enumerated() {
                let expected = pattern.alternatives.contains { alternative in
                    guard case .glob(let glob) = alternative else { return false }
                    return naive(glob.items[...], bytes[...])
                }
                #expect(found.contains(number) == expected, "\(pattern.text) \(tag)")
                #expect((pattern.match(tag) != nil) == expected, "\(pattern.text) \(tag)")
            }
        }
    }

    /// Tries all ways in which wildcards can share the tag.
    private func naive(_ items: ArraySlice<TagGlob.Item>, _ tag: ArraySlice<UInt8>) -> Bool {
        guard let item = items.first else { return tag.isEmpty }
        let rest = items.dropFirst()
        switch item {
        case .byte(let byte): return tag.first == byte && naive(rest, tag.dropFirst())
        case .boundary: return (tag.isEmpty || tag.first == TagGlob.dot) && naive(rest, tag)
        case .leadingTerms where tag.startIndex == 0 && naive(rest.dropFirst(), tag): return true
        case .inTerm, .terms, .leadingTerms:
            if naive(rest, tag) { return true }
            guard let first = tag.first, item != .inTerm || first != TagGlob.dot else {
                return false
            }
            return naive(items, tag.dropFirst())
        }
    }

    @Test func statesAreBounded() throws {
        let long = try (0..<130).map {
            try TagPattern("\($0)" + String(repeating: "x", count: 250))
        }
        #expect(TagAutomaton(long) == nil)
        #expect(TagAutomaton(Array(long.prefix(100))) != nil)
    }
}

extension SeededRandom {
    fileprivate mutating func text(of parts: [String]) -> String {
        (0..<Int.random(in: 0...8, using: &self))
            .map { _ in parts.randomElement(using: &self) ?? "" }.joined()
    }
}
