import HTTP
import Ingest
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// RFC 9110, sections 8.8.3 and 13.1.1.
struct IfMatchTests {
    @Test(
        "Lists of entity tags are read as they may be written, and weak ones match nothing",
        arguments: [
            (#""a""#, [#""a""#]), (#""a", "b""#, [#""a""#, #""b""#]),
            (#""a","b" , , "c","#, [#""a""#, #""b""#, #""c""#]), (#""a,b""#, [#""a,b""#]),
            (#""""#, [#""""#]), (#"W/"a""#, []), (#"W/"a", "b""#, [#""b""#]),
            ("\"ü\"", ["\"ü\""]),
        ]
    )
    func lists(list: String, strong: [String]) {
        #expect(IfMatch(list: list) == .versions(strong))
    }

    @Test(
        "What is no such list is refused, so that no condition is lost",
        arguments: [
            "", " ", ",", "a", "\"a", "a\"", "\"a\" \"b\"", "\"a b\"", "*, \"a\"", "\"a\", *",
            "w/\"a\"",
            "W/ \"a\"", "W/a", "'a'", "\"a\u{7F}\"",
        ]
    )
    func wrong(list: String) {
        #expect(IfMatch(list: list) == nil)
    }

    @Test("If-Match * needs an existing version; a list needs the present one")
    func check() throws {
        try IfMatch.anything.check(nil)
        try IfMatch.whateverThereIs.check("\"a\"")
        try IfMatch.versions(["\"b\"", "\"a\""]).check("\"a\"")
        for (condition, version) in [
            (IfMatch.whateverThereIs, nil), (.versions(["\"a\""]), nil), (.versions([]), "\"a\""),
            (.versions(["\"b\""]), "\"a\""),
        ] {
            #expect(throws: HTTPProblem.self) { try condition.check(version) }
        }
    }
}
