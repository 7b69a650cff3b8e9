import Testing

@testable import Routing

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
