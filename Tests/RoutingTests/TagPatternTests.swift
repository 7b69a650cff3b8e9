import TestSupport
import Testing

@testable import Routing

/// Rows of the tables of Puree's and fluentd's own suites, with the column of fluentd where they
/// differ.
@Suite struct TagPatternTests {
    @Test(arguments: [
        // Puree's suites.
        ("aaa", "aaa", nil), ("*", "aaa", "aaa"), ("*", "bbb", "bbb"), ("aaa.bbb", "aaa.bbb", nil),
        ("aaa.*", "aaa.bbb", "bbb"), ("aaa.*", "aaa.ccc", "ccc"),
        ("aaa.*.ccc", "aaa.bbb.ccc", "bbb"),
        ("a.**", "a", ""), ("a.**", "a.b", "b"), ("a.**", "a.b.c", "b.c"),
        // Edge cases.
        ("*", "", ""), ("**", "", ""), ("**", "a.b", "a.b"), ("a.*", "a.", ""),
        ("a.b.**", "a.b", ""),
        ("a.b.**", "a.b.c.d", "c.d"), ("a.*.c", "a.b.c", "b"), ("a.*.c", "a.*.c", "*"),
        ("a.**.c", "a.c", ""), ("a.**.c", "a.b.c", "b"), ("a.**.c", "a.b.b.c", "b.b"),
        ("**.c", "c", ""), ("**.c", "a.b.c", "a.b"), ("*.c", "a.c", "a"), ("a*", "ab", "b"),
        ("a**", "ab.c", "b.c"), ("*.*", "a.b", "b"), ("a.*.*", "a.b.c", "c"), ("**.**", "a", "a"),
        ("a.{b,c}", "a.b", nil), ("a.{b,c.**}", "a.c.d", "d"), ("{a,b}.*", "b.x", "x"),
        ("a..b", "a..b", nil), ("a.", "a", nil),
        // Wildcards that could share the tag differently: the first takes the most.
        ("**.*", "a.b.c", "c"), ("*a*", "aaa", ""), ("a.**.**", "a.b.c", "c"),
        ("a**b**", "abcbd", "d"),
        ("{x,*}.b", "x.b", nil), ("a.** b", "b", nil), ("a.**", "a..b", ".b"), ("a.**", "a.", ""),
        // Escapes.
        (#"a\*"#, "a*", nil), (#"\{a\}\,\ b"#, "{a}, b", nil), (#"\/a"#, "/a", nil),
        (#"\\"#, #"\"#, nil),
        ("a,b", "a,b", nil), ("a.\u{e9}*", "a.\u{e9}t\u{e9}", "t\u{e9}"),
        ("/a.*/", "abc", nil),
    ])
    func captures(pattern: String, tag: String, captured: String?) throws {
        #expect(try TagPattern(pattern).match(tag) == TagMatch(captured: captured))
    }

    @Test("The regular expressions of a pattern are bounded together")
    func expressions() {
        let large = Array(repeating: #"/[\pL]{2}/"#, count: 20).joined(separator: " ")
        #expect(throws: PatternProblem.self) { try TagPattern(large) }
        #expect(throws: Never.self) {
            try TagPattern(#"/app\.[a-z]+\.(error|warn)/ /(?!debug).*/"#)
        }
    }

    @Test(arguments: [
        ("bbb", "aaa"), ("*", "aaa.bbb"), ("aaa.*", "aaa.bbb.ccc"), ("aaa.*.ccc", "aaa.ccc.ddd"),
        ("a.**", "b.c"), ("aaa.*", "aaa"), ("aaa.**", "xxx.yyy.zzz"),
        ("a.*", "a"), ("a.*", "a..b"), ("a.**", "ab"), ("a.b.**", "a"), ("**.c", "bc"),
        ("*.c", "c"),
        ("a*", "a.b"), ("a.{b,c}", "a.d"), ("a.b", "A.B"), ("a.", "a."), ("a", ""), ("a", "aa"),
    ])
    func refuses(pattern: String, tag: String) throws {
        #expect(try TagPattern(pattern).match(tag) == nil)
    }

    @Test(arguments: [
        ("a", "a", "b"),
        ("a.b", "a.b", "aab"),
        ("a*", "a ab abc", "a.b ab.c ba"),
        ("*a", "a ba cba", "ab"),
        ("*a*", "a ba ac bac", ""),
        ("a.*", "a.b a.c", "ab a.b.c"),
        ("a.*.c", "a.b.c a.c.c", "a.c"),
        ("a.**", "a a.b", "ab abc ab.c ab.d.e"),
        ("a**", "a ab abc a.b ab.c ab.d.e", ""),
        ("**.a", "a b.a cb.a d.e.a", "ba c.ba"),
        ("**a", "a ba c.ba b.a cb.a d.e.a", ""),
        ("a.{b,c}", "a.b a.c", "a.d"),
        ("a.{b,c}.**", "a.b a.c", "a.d a.cd"),
        ("a.{b.**,c}", "a.b a.b.c a.c", "a.c.d"),
        ("a.b a.c", "a.b a.c", "a.d"),
        ("a.b.** a.c.**", "a.b a.c", "a.d a.cd"),
        ("a.b.** a.c", "a.b a.b.c a.c", "a.c.d"),
        ("/a/", "a", "abc"),
        ("/a.*/", "abc", ""),
        ("/b.*/", "", "abc"),
        (#"/a\..*/"#, "a.b.c", "b.b.c"),
        (#"/(?!a\.).*/"#, "b.b.c", "a.b.c"),
        ("a b", "a b", "c"),
        ("a.** b.*", "a a.b a.b.c b.d", "b"),
        (" a  b ", "a b", "c"),
        ("{a,b{c,d}}.{e,}", "a.e bc.e bd.e a.", "b.e a"),
        (#"/(?!(a|[)])\)).*/ c"#, "x c", "a) ))"),
        ("/a/b/", "a/b", "a"),
    ])
    func fluentd(pattern: String, matching: String, others: String) throws {
        let pattern = try TagPattern(pattern)
        for tag in matching.split(separator: " ") {
            #expect(pattern.match(String(tag)) != nil, "\(tag)")
        }
        for tag in others.split(separator: " ") {
            #expect(pattern.match(String(tag)) == nil, "\(tag)")
        }
    }

    @Test(arguments: [
        ("", 0, "empty"), ("  ", 0, "empty"), ("a\tb", 1, "control"), ("a.\n.c", 2, "control"),
        ("a.{b,c", 2, "not closed"), ("{a, b}", 0, "without spaces"), ("a.b}", 3, "without a {"),
        ("a /b", 2, "not closed"), ("/", 0, "not closed"), (#"/a\/"#, 0, "not closed"),
        (#"ab\"#, 2, "nothing"),
        ("/a(b/", 1, "missing )"), ("/ab*+?c**/", 3, "repetition"), ("/a(?=b)/", 2, "look-around"),
        ("/(?!a)(?!b)/", 6, "look-around"), ("/(?!a/", 1, "not closed"),
        ("/(?!a**)x/", 5, "repetition"),
        ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", 35, "64 alternatives"),
    ])
    func problems(pattern: String, position: Int, reason: String) throws {
        #expect {
            try TagPattern(pattern)
        } throws: {
            let problem = $0 as? PatternProblem
            return problem?.position == position && problem?.reason.contains(reason) == true
        }
    }

    @Test func aPatternIsBounded() throws {
        #expect(throws: PatternProblem.self) { try TagPattern(String(repeating: "a", count: 257)) }
        let nested = String(repeating: "{", count: 128) + String(repeating: "}", count: 128)
        #expect(try TagPattern(nested).match("") == TagMatch(captured: nil))
        #expect(throws: PatternProblem.self) {
            try TagPattern(String(repeating: "{,}", count: 85))
        }
    }
}

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
