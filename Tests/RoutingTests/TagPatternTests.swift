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
