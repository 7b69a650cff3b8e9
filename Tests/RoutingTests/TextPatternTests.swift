import Testing

@testable import Routing

@Suite struct TextPatternTests {
    @Test func theLeftmostMatchIsFound() throws {
        let pattern = try TextPattern("b+")
        let text = Array("abbcb".utf8)
        text.withUnsafeBufferPointer {
            #expect(pattern.find(in: $0) == 1..<3)
            #expect(pattern.find(in: $0, from: 2) == 2..<3)
            #expect(pattern.find(in: $0, from: 3) == 4..<5)
            #expect(pattern.find(in: $0, from: 5) == nil)
            #expect(pattern.isMatch($0))
        }
    }

    @Test func anEmptyMatchHasAPlace() throws {
        let pattern = try TextPattern("x*")
        #expect(pattern.find(in: UnsafeBufferPointer(start: nil, count: 0)) == 0..<0)
        Array("ab".utf8).withUnsafeBufferPointer { #expect(pattern.find(in: $0, from: 2) == 2..<2) }
    }

    @Test func groupsAreThoseOfTheMatch() throws {
        let pattern = try TextPattern("(?P<key>[a-z]+)=((?P<digits>[0-9]+)|(\\w*))")
        #expect(pattern.groups.map(\.name) == ["key", "digits"])
        #expect(pattern.groups.map(\.number) == [1, 3])
        var ranges: [Range<Int>?] = []
        Array("? ab=12".utf8).withUnsafeBufferPointer {
            #expect(pattern.groups(in: $0, into: &ranges))
        }
        #expect(ranges == [2..<7, 2..<4, 5..<7, 5..<7, nil])
        Array("=".utf8).withUnsafeBufferPointer { #expect(!pattern.groups(in: $0, into: &ranges)) }
        #expect(ranges.isEmpty)
    }

    @Test func invalidUTF8IsSearchedToo() throws {
        let pattern = try TextPattern("pass=[a-z]+")
        let text: [UInt8] = [0xFF, 0xC3] + Array("pass=ab".utf8) + [0xE2]
        text.withUnsafeBufferPointer { #expect(pattern.find(in: $0) == 2..<9) }
    }

    @Test(arguments: [
        ("a(b", 0, "missing )"), ("ab[c", 2, "missing ]"), ("ab**", 2, "repetition"),
        ("a(?=b)", 1, "(?="), ("ab\\", 2, "trailing"), ("a{1,2000}", 1, "repetition"),
        ("([a-z]{900}|[0-9é]{900}){1}[à-ü]{900}\\pL{900}", 0, "too large"),
    ])
    func problems(text: String, position: Int, reason: String) {
        #expect {
            try TextPattern(text)
        } throws: {
            let problem = $0 as? PatternProblem
            return problem?.position == position && problem?.reason.contains(reason) == true
        }
    }

    @Test func aPatternIsBounded() throws {
        let long = String(repeating: "a", count: 4096)
        _ = try TextPattern(long)
        #expect(throws: PatternProblem.self) { try TextPattern(long + "a") }
        _ = try TextPattern(String(repeating: "()", count: 64))
        #expect(throws: PatternProblem.self) { try TextPattern(String(repeating: "()", count: 65)) }
    }
}

@Suite struct TemplateTests {
    @Test func aTemplateIsTextAndPlaces() throws {
        let template = try Template("page-{{captured}}/{{field:user id}}{x}")
        #expect(
            template.parts == [
                .text("page-"), .captured, .text("/"), .field("user id"), .text("{x}"),
            ]
        )
    }

    @Test(arguments: [("a{{b}}", 1), ("{{tag", 0), ("{{field:}}", 0)])
    func aPlaceThatIsUnknownIsNamedWithItsPosition(text: String, position: Int) {
        #expect { try Template(text) } throws: { ($0 as? PatternProblem)?.position == position }
    }
}
